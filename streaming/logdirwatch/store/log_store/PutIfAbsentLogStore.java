package logdirwatch;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.delta.storage.HadoopFileSystemLogStore;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;

/**
 * Delta's log where several processes write one table: an entry that exists is never replaced.
 *
 * <p>On a local disk, and on any other that a kernel mounts, an entry is a hard link to a complete file: link(2) fails
 * if the name exists, on NFS too. What a power failure must not take is flushed first: the data files that the entry
 * adds, the entry, and the folders. In S3 an entry is put with "If-None-Match: *" (HADOOP-19256, from Hadoop 3.4.2 on;
 * an older Hadoop refuses the option). LocalLogStore and Delta's defaults look whether the file exists and then write
 * it, which excludes only writers of the same JVM.
 */
public final class PutIfAbsentLogStore extends HadoopFileSystemLogStore {
  private static final String CONDITIONAL = "fs.option.create.conditional.overwrite";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern ENTRY = Pattern.compile("(\\d{20})\\.json");
  /** A gap that stays in so many further listings is a missing entry. */
  private static final int LOOKS = 3;

  public PutIfAbsentLogStore(Configuration conf) {
    super(conf);
  }

  @Override
  public void write(
      org.apache.hadoop.fs.Path path, Iterator<String> actions, Boolean overwrite, Configuration conf)
      throws IOException {
    FileSystem files = path.getFileSystem(conf);
    byte[] entry = joined(actions);
    if (isLocal(files)) {
      writeLocally(Path.of(files.makeQualified(path).toUri().getPath()), entry, overwrite);
    } else if (overwrite) {
      try (OutputStream out = files.create(path, true)) {
        out.write(entry);
      }
    } else {
      putIfAbsent(files, path, entry);
    }
  }

  /**
   * A folder's listing is not atomic: beside an entry it may lack the one before, which was linked meanwhile. Delta takes
   * that for a damaged log, so a listing with a gap is made again.
   */
  @Override
  public Iterator<FileStatus> listFrom(org.apache.hadoop.fs.Path path, Configuration conf) throws IOException {
    List<FileStatus> found = listed(path, conf);
    for (int more = 0; more < LOOKS && hasGap(found); more++) {
      found = listed(path, conf);
    }
    return found.iterator();
  }

  private List<FileStatus> listed(org.apache.hadoop.fs.Path path, Configuration conf) throws IOException {
    List<FileStatus> found = new ArrayList<>();
    super.listFrom(path, conf).forEachRemaining(found::add);
    return found;
  }

  private static boolean hasGap(List<FileStatus> found) {
    long before = -1;
    for (FileStatus file : found) {
      Matcher name = ENTRY.matcher(file.getPath().getName());
      if (name.matches()) {
        long version = Long.parseLong(name.group(1));
        if (before >= 0 && version != before + 1) {
          return true;
        }
        before = version;
      }
    }
    return false;
  }

  /** Whether readers could see a half of what Spark writes, such as a checkpoint, before it is complete. */
  @Override
  public Boolean isPartialWriteVisible(org.apache.hadoop.fs.Path path, Configuration conf) throws IOException {
    return isLocal(path.getFileSystem(conf));
  }

  private static boolean isLocal(FileSystem files) {
    return "file".equals(files.getUri().getScheme());
  }

  private static byte[] joined(Iterator<String> actions) {
    StringBuilder lines = new StringBuilder();
    actions.forEachRemaining(action -> lines.append(action).append('\n'));
    return lines.toString().getBytes(StandardCharsets.UTF_8);
  }

  private static void writeLocally(Path path, byte[] entry, boolean overwrite) throws IOException {
    Path folder = path.getParent();
    if (overwrite) {
      flushCheckpoints(folder);
    } else {
      flushAdded(folder.getParent(), entry);
    }
    // In the table's folder VACUUM deletes what a killed process left; in that of its log nothing would.
    Path whole = folder.resolveSibling("entry-" + UUID.randomUUID() + ".tmp");
    try {
      Files.write(whole, entry, StandardOpenOption.CREATE_NEW);
      flush(whole);
      if (overwrite) {
        Files.move(whole, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      } else {
        link(whole, path);
      }
    } finally {
      Files.deleteIfExists(whole);
    }
    flush(folder);
  }

  private static void link(Path whole, Path path) throws IOException {
    try {
      Files.createLink(path, whole);
    } catch (FileAlreadyExistsException exists) {
      // NFS repeats a request whose answer was lost, and then finds the link that it made.
      if (!Files.isSameFile(whole, path)) {
        throw exists;
      }
    }
  }

  /** Flush the files that an entry adds: Spark has closed them, which does not put them on the disk. */
  private static void flushAdded(Path table, byte[] entry) throws IOException {
    Set<Path> folders = new HashSet<>();
    for (String action : new String(entry, StandardCharsets.UTF_8).split("\n")) {
      if (action.startsWith("{\"add\"")) {
        String added = JSON.readTree(action).path("add").path("path").asText();
        Path file = Path.of(table.toUri().resolve(URI.create(added)).getPath());
        flush(file);
        folders.add(file.getParent());
      }
    }
    for (Path folder : folders) {
      flush(folder);
    }
  }

  /** Flush the checkpoints before _last_checkpoint names one, after which Delta deletes the entries before it. */
  private static void flushCheckpoints(Path folder) throws IOException {
    try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, "*.checkpoint*")) {
      found.forEach(PutIfAbsentLogStore::flushUnchecked);
    }
    flush(folder);
  }

  private static void flushUnchecked(Path file) {
    try {
      flush(file);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static void flush(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  private static void putIfAbsent(FileSystem files, org.apache.hadoop.fs.Path path, byte[] entry) throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = files.createFile(path);
    try {
      try (OutputStream out = builder.create().overwrite(false).must(CONDITIONAL, true).build()) {
        out.write(entry);
      }
    } catch (IOException refused) {
      // The client repeats a request whose answer was lost, and then finds what it has put.
      if (!files.exists(path)) {
        throw refused;
      }
      if (!Arrays.equals(entry, read(files, path))) {
        throw (IOException) new FileAlreadyExistsException(path.toString()).initCause(refused);
      }
    }
  }

  private static byte[] read(FileSystem files, org.apache.hadoop.fs.Path path) throws IOException {
    try (InputStream in = files.open(path)) {
      return in.readAllBytes();
    }
  }
}
