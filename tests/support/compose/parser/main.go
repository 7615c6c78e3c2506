// Prints a Compose file as Docker Compose understands it, as JSON, or says why it would be refused.
// The program that comes with the library doesn't fill in variables of the environment.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := show(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func show(files []string) error {
	options, err := cli.NewProjectOptions(files, cli.WithOsEnv, cli.WithProfiles([]string{"*"}))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	shown, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(shown)
	return err
}
