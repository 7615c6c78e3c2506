package org.headgate.spark;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.types.Decimal$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.mutable.LinkedHashMap;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The files of one version of a table, as its log lists them: nothing is listed, and partition values are those of the log,
 * wherever a file lies. Compiled at run time by the compiler that Spark brings, which knows neither generics nor lambdas well.
 */
public final class HeadgateFileIndex extends PartitioningAwareFileIndex {
  private static final long BLOCK_BYTES = 128L << 20;

  private final String identity;
  private final Seq roots;
  private final Seq all;
  private final PartitionSpec spec;
  private final LinkedHashMap files = new LinkedHashMap();
  private final Map byPartition;

  /** What `packed` holds is said where it is made: in packed_files.py. */
  public HeadgateFileIndex(
      SparkSession session, Map options, String identity, String root, StructType partitionColumns, byte[] packed)
      throws Exception {
    super(session, options, Option.apply(null), NoopCache$.MODULE$);
    this.identity = identity;
    List rootPaths = new ArrayList();
    rootPaths.add(new Path(root));
    this.roots = CollectionConverters.asScala(rootPaths).toSeq();
    List statuses = new ArrayList();
    List partitions = new ArrayList();
    java.util.Map grouped = new HashMap();
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(packed));
    int count = in.readInt();
    for (int number = 0; number < count; number++) {
      Object[] values = new Object[partitionColumns.size()];
      for (int column = 0; column < values.length; column++) {
        values[column] = value(in);
      }
      FileStatus[] members = new FileStatus[in.readInt()];
      for (int member = 0; member < members.length; member++) {
        Path path = new Path(root + "/" + text(in));
        long size = in.readLong();
        long modified = in.readLong();
        members[member] = new FileStatus(size, false, 1, BLOCK_BYTES, modified, path);
        files.put(path, members[member]);
        statuses.add(members[member]);
      }
      // Spark finds the files of a partition by a folder. Ours have none: any path does that no other partition has.
      Path place = new Path(root + "/" + number);
      grouped.put(place, members);
      partitions.add(new PartitionPath(new GenericInternalRow(values), place));
    }
    this.all = CollectionConverters.asScala(statuses).toSeq();
    this.spec = new PartitionSpec(partitionColumns, CollectionConverters.asScala(partitions).toSeq());
    this.byPartition = (Map) Map$.MODULE$.from(CollectionConverters.asScala(grouped));
  }

  private static String text(DataInputStream in) throws Exception {
    byte[] bytes = new byte[in.readInt()];
    in.readFully(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static Object value(DataInputStream in) throws Exception {
    switch (in.readByte()) {
      case 0:
        return null;
      case 1:
        return UTF8String.fromString(text(in));
      case 2:
        return Boolean.valueOf(in.readBoolean());
      case 3:
        return Byte.valueOf(in.readByte());
      case 4:
        return Short.valueOf(in.readShort());
      case 5:
        return Integer.valueOf(in.readInt());
      case 6:
        return Long.valueOf(in.readLong());
      case 7:
        return Float.valueOf(in.readFloat());
      case 8:
        return Double.valueOf(in.readDouble());
      case 9: {
        int precision = in.readInt();
        int scale = in.readInt();
        return Decimal$.MODULE$.apply(new BigDecimal(text(in)), precision, scale);
      }
      default:
        throw new IllegalArgumentException("a partition value of an unknown kind");
    }
  }

  /** How many files a scan reads of those that were given: Spark hides some by their names. */
  public int shown() {
    Seq none = CollectionConverters.asScala(new ArrayList()).toSeq();
    java.util.Iterator folders = CollectionConverters.asJava(listFiles(none, none)).iterator();
    int found = 0;
    while (folders.hasNext()) {
      found += ((PartitionDirectory) folders.next()).files().size();
    }
    return found;
  }

  public int given() {
    return all.size();
  }

  public Seq rootPaths() {
    return roots;
  }

  public PartitionSpec partitionSpec() {
    return spec;
  }

  public LinkedHashMap leafFiles() {
    return files;
  }

  public Map leafDirToChildrenFiles() {
    return byPartition;
  }

  public Seq allFiles() {
    return all;
  }

  /** A version never changes. */
  public void refresh() {}

  /** Spark takes equal indexes for the same rows, as when it looks for cached ones. */
  public boolean equals(Object other) {
    return other instanceof HeadgateFileIndex && ((HeadgateFileIndex) other).identity.equals(identity);
  }

  public int hashCode() {
    return identity.hashCode();
  }
}
