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
/** Of one folder, so many files at most share a process, so that none runs on alone at the end. */
const MAX_FILES = 12

/** The folder below `test`. */
function folderOf(path: string): string {
  const parts = path.split('/')
  return parts.slice(0, Math.min(2, parts.length - 1)).join('/')
}

/** The groups that files, in order of their path, run in; what takes longest begins first. */
export function groupsOf(files: readonly string[]): readonly Group[] {
  const long = files.filter((path) => alone.some((prefix) => path.startsWith(prefix)))
  const groups: Group[] = long.map((path) => ({ name: path, paths: [path] }))
  const short = files.filter((path) => !long.includes(path))
  for (const folder of new Set(short.map(folderOf))) {
    const paths = short.filter((path) => folderOf(path) === folder)
    const count = Math.ceil(paths.length / MAX_FILES)
    for (let n = 0; n < count; n += 1)
      groups.push({
        name: count === 1 ? folder : `${folder} (${n + 1} of ${count})`,
        paths: paths.slice((n * paths.length) / count, ((n + 1) * paths.length) / count),
      })
  }
  return groups
}
