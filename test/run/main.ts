import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type GroupOrder, groupsOf } from './groups.ts'
import { failureLines } from './failures.ts'
import { scratchFolder } from './scratch.ts'
import { slowest, type Usage } from './usage.ts'

/**
 * Runs every compiled test file, or those whose path begins with an argument, several to a process, and says which
 * took longest.
 *
 * tap's own runner loads into each of them, and into all that they start, what follows every module for coverage and
 * for mocks. Neither is used, and it costs more than most tests; `env` keeps it out.
 */

const SHOWN = 12
/** Of what was found and wanted. */
const LINES_SHOWN = 24

const folder = fileURLToPath(new URL('../..', import.meta.url))
const wanted = process.argv.slice(2)
const files = readdirSync(folder, { encoding: 'utf8', recursive: true })
  .filter((path) => path.endsWith('.test.js') && path.startsWith('test/'))
  .filter((path) => wanted.length === 0 || wanted.some((prefix) => path.startsWith(prefix)))
  .sort()

const scratch = scratchFolder()
const notes = mkdtempSync(join(scratch, 'tollgate-run-'))
const usageFile = join(notes, 'usage')
const group = fileURLToPath(new URL('group.js', import.meta.url))

// Each file has a bound of its own, all together have none.
t.setTimeout(0)
t.jobs = Number(process.env['TAP_JOBS'] ?? 1)
const timeoutMs = Number(process.env['TAP_TIMEOUT'] ?? 30) * 1_000
const groups = groupsOf(files)
t.plan(groups.length)
/** What failed, said again at the very end: where only the end of a long output is kept, that is the part needed. */
const failed: string[] = []
t.parser.on('fail', ({ fullname, diag }) => {
  failed.push(`FAILED ${fullname}`, ...failureLines(diag, LINES_SHOWN))
})
t.teardown(() => {
  const lines = readFileSync(usageFile, 'utf8').trim().split('\n')
  for (const line of slowest(
    lines.map((text) => JSON.parse(text) as Usage),
    SHOWN,
  ))
    t.comment(line)
  for (const line of failed) t.comment(line)
  rmSync(notes, { recursive: true, force: true })
})
/** What was compiled of modules that many processes load; versions of Node that cannot keep it ignore this. */
const compiled = `NODE_COMPILE_CACHE=${join(notes, 'compiled')}`
for (const { name, paths } of groups) {
  const order: GroupOrder = { paths, timeoutMs, usageFile }
  const env = [
    '-u',
    'NODE_OPTIONS',
    compiled,
    `TMPDIR=${scratch}`,
    `TEST_GROUP=${JSON.stringify(order)}`,
  ]
  void t.spawn(
    'env',
    [...env, process.execPath, '--enable-source-maps', group, name],
    { cwd: folder, buffered: t.jobs > 1, timeout: timeoutMs * paths.length },
    name,
  )
}
