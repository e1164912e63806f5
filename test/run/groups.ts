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

/**
 * Whole products that start, are killed and start again, in the order they begin in: they take longest, and nothing
 * would be saved by sharing a process.
 */
const alone = [
  'test/faults/kills',
  'test/faults/text/',
  'test/faults/',
  'test/cli/startup-faults',
  'test/cli/serve',
]

/** Of those the rules that judge them, which start nothing. */
const PURE = 'test/faults/driver/'

/**
 * So many files at most share a process. More would save little of loading, and the last one would run on alone at the
 * end.
 */
const MAX_FILES = 20

/** The groups that files, in order of their path, run in; what takes longest begins first. */
export function groupsOf(files: readonly string[]): readonly Group[] {
  const turnOf = (path: string): number =>
    path.startsWith(PURE) ? -1 : alone.findIndex((prefix) => path.startsWith(prefix))
  const long = files.filter((path) => turnOf(path) >= 0).sort((a, b) => turnOf(a) - turnOf(b))
  const short = files.filter((path) => !long.includes(path))
  const count = Math.ceil(short.length / MAX_FILES)
  const shared = Array.from({ length: count }, (_none, n): Group => {
    const paths = short.slice((n * short.length) / count, ((n + 1) * short.length) / count)
    return { name: `${paths[0]} and ${paths.length - 1} more`, paths }
  })
  return [...long.map((path) => ({ name: path, paths: [path] })), ...shared]
}
