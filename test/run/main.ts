import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

/**
 * Runs every compiled test file in a process of its own, or those whose path begins with an argument.
 *
 * tap's own runner loads into each of them, and into all that they start, what follows every module for coverage and
 * for mocks. Neither is used, and it costs more than most tests; `env` keeps it out.
 */

/** Whole products that start, are killed and start again. */
function isLong(path: string): boolean {
  return path.startsWith('test/faults/') || path.startsWith('test/cli/')
}

const folder = fileURLToPath(new URL('../..', import.meta.url))
const wanted = process.argv.slice(2)
const files = readdirSync(folder, { encoding: 'utf8', recursive: true })
  .filter((path) => path.endsWith('.test.js') && path.startsWith('test/'))
  .filter((path) => wanted.length === 0 || wanted.some((prefix) => path.startsWith(prefix)))
  // The longest begin first, so that none is left to run alone at the end.
  .sort((a, b) => Number(isLong(b)) - Number(isLong(a)) || (a < b ? -1 : 1))

// Each file has a bound of its own, all together have none.
t.setTimeout(0)
t.jobs = Number(process.env['TAP_JOBS'] ?? 1)
const timeout = Number(process.env['TAP_TIMEOUT'] ?? 30) * 1_000
t.plan(files.length)
for (const path of files)
  void t.spawn(
    'env',
    ['-u', 'NODE_OPTIONS', process.execPath, '--enable-source-maps', path],
    { cwd: folder, buffered: t.jobs > 1, timeout },
    path,
  )
