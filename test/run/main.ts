import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { failureLines } from './failures.ts'
import { scratchFolder } from './scratch.ts'
import { inTurn, type Order, take } from './turns.ts'
import { type Usage, usageLines } from './usage.ts'

/**
 * Runs every compiled test file, or those whose path begins with an argument, many to a process, and says which
 * took longest.
 *
 * tap's own runner loads into each of them, and into all that they start, what follows every module for coverage and
 * for mocks. Neither is used, and it costs more than most tests; `env` keeps it out.
 */

const SHOWN = 20
/** Of what was found and wanted. */
const LINES_SHOWN = 24

const folder = fileURLToPath(new URL('../..', import.meta.url))
const wanted = process.argv.slice(2)
const found = readdirSync(folder, { encoding: 'utf8', recursive: true })
  .filter((path) => path.endsWith('.test.js') && path.startsWith('test/'))
  .filter((path) => wanted.length === 0 || wanted.some((prefix) => path.startsWith(prefix)))
const paths = inTurn(found)

const scratch = scratchFolder()
const notes = mkdtempSync(join(scratch, 'tollgate-run-'))
const usageFile = join(notes, 'usage')
const taken = join(notes, 'taken')
mkdirSync(taken)
const worker = fileURLToPath(new URL('worker.js', import.meta.url))

// Each file has a bound of its own, all together have none.
t.setTimeout(0)
t.jobs = Number(process.env['TAP_JOBS'] ?? 1)
const timeoutMs = Number(process.env['TAP_TIMEOUT'] ?? 30) * 1_000
/** What failed, said again at the very end: where only the end of a long output is kept, that is the part needed. */
const failed: string[] = []
t.parser.on('fail', ({ fullname, diag }) => {
  failed.push(`FAILED ${fullname}`, ...failureLines(diag, LINES_SHOWN))
})
t.teardown(() => {
  for (const line of [...usageLines(used(), SHOWN), ...failed]) t.comment(line)
  rmSync(notes, { recursive: true, force: true })
})

function used(): readonly Usage[] {
  const lines = readFileSync(usageFile, 'utf8').trim().split('\n')
  return lines.map((text) => JSON.parse(text) as Usage)
}

/** What was compiled of modules that many processes load; versions of Node that cannot keep it ignore this. */
const compiled = `NODE_COMPILE_CACHE=${join(notes, 'compiled')}`

/** One process after another: each ends when all files are taken, or when it holds much memory. */
async function work(): Promise<void> {
  for (let first = take(taken, paths.length); first !== undefined;) {
    const order: Order = { paths, first, timeoutMs, taken, usageFile }
    const env = [
      '-u',
      'NODE_OPTIONS',
      compiled,
      `TMPDIR=${scratch}`,
      `TEST_ORDER=${JSON.stringify(order)}`,
    ]
    const name = `from ${paths[first]}`
    await t.spawn(
      'env',
      [...env, process.execPath, '--enable-source-maps', worker, name],
      { cwd: folder, buffered: t.jobs > 1, timeout: 0 },
      name,
    )
    first = take(taken, paths.length)
  }
}

await Promise.all(Array.from({ length: t.jobs }, work))
t.same(
  used()
    .map(({ path }) => path)
    .sort(),
  [...paths].sort(),
  'every file ran to its end',
)
