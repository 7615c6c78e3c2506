# Headgate and the libraries pinned in requirements/run.txt, for a user who is not root. The command is `headgate`.

FROM python:3.13.14-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1
WORKDIR /source
# The libraries change less often than Headgate does, so they are a layer of their own.
COPY requirements/run.txt requirements/build.txt requirements/
RUN python -m venv /usr/local/headgate \
 && /usr/local/headgate/bin/python -m pip install --only-binary :all: --require-hashes -r requirements/run.txt \
 && python -m venv /usr/local/build \
 && /usr/local/build/bin/python -m pip install --only-binary :all: --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY schemas schemas
COPY table table
COPY bus bus
COPY producer producer
COPY committer committer
COPY worker worker
COPY front front
RUN /usr/local/build/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
 && /usr/local/headgate/bin/python -m pip install --no-deps --no-index dist/*.whl \
 && /usr/local/headgate/bin/python -m pip uninstall --yes pip

FROM python:3.13.14-slim-trixie
RUN groupadd --system --gid 10001 headgate \
 && useradd --system --uid 10001 --gid headgate --home-dir /var/lib/headgate --create-home --shell /usr/sbin/nologin headgate
COPY --from=build /usr/local/headgate /usr/local/headgate
ENV PATH=/usr/local/headgate/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# By number, so that an orchestrator can see that it is not root.
USER 10001:10001
WORKDIR /var/lib/headgate
# What is healthy depends on the command: the services of compose.yaml have a health check each.
ENTRYPOINT ["headgate"]
CMD ["--help"]
