/** Test files that share a process, one after another. */
export interface Group {
  readonly name: string
  readonly paths: readonly string[]
}

/** What the process of a group is told. */
export interface GroupOrder {
  readonly paths: readonly string[]
  /** Bound of each file. */
  readonly timeoutMs: number
  /** Where it writes what each file took, a line of JSON each. */
  readonly usageFile: string
}

/** Whole products that start, are killed and start again: nothing is saved by sharing a process, and time is lost. */
const alone = ['test/faults/', 'test/cli/serve', 'test/cli/startup-faults', 'test/cli/sandbox']
/**
 * So many files at most share a process. More would save little of loading, and the last one would run on alone at the
 * end.
 */
const MAX_FILES = 20

/** The groups that files, in order of their path, run in; what takes longest begins first. */
export function groupsOf(files: readonly string[]): readonly Group[] {
  const long = files.filter((path) => alone.some((prefix) => path.startsWith(prefix)))
  const short = files.filter((path) => !long.includes(path))
  const count = Math.ceil(short.length / MAX_FILES)
  const shared = Array.from({ length: count }, (_none, n): Group => {
    const paths = short.slice((n * short.length) / count, ((n + 1) * short.length) / count)
    return { name: `${paths[0]} and ${paths.length - 1} more`, paths }
  })
  return [...long.map((path) => ({ name: path, paths: [path] })), ...shared]
}
