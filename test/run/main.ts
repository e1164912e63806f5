import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { isLong } from '../helpers/long-run.ts'
import { isOnlyAtLength } from './at-length.ts'
import { furtherFiles } from './further.ts'
import { timeLimitS } from './time-limit.ts'
import { lists, type Order, take } from './turns.ts'
import { type Usage, usageLines } from './usage.ts'

/** A file system in memory, where Linux has one; containers often give it very little. */
const IN_MEMORY = '/dev/shm'
/** Several times what a whole run was seen to need at a time. */
const ROOM_BYTES = 4 * 1024 ** 3

/**
 * Where tests keep their files, databases included: in memory where there is room, unless `TMPDIR` says otherwise. A
 * run makes and drops hundreds of databases of a thousand files each, and ext4 passes over every file deleted in the
 * last seconds for each new one: a fifth of a run's processor time.
 */
function scratchFolder(): string {
  if ((process.env['TMPDIR'] ?? '') !== '') return tmpdir()
  const uid = process.getuid?.()
  if (uid === undefined || freeBytes() < ROOM_BYTES) return tmpdir()
  const folder = `${IN_MEMORY}/tollgate-tests-${uid}`
  // Postgres passes through it with an account of its own.
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  return statSync(folder).uid === uid ? folder : tmpdir()
}

function freeBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY)
    return Math.min(bavail * bsize, freemem())
  } catch {
    return 0
  }
}

/** What tap keeps of a failed assertion, as lines to be read: where it stands, and what was found and wanted. */
function failureLines(diag: unknown, most: number): readonly string[] {
  if (typeof diag !== 'object' || diag === null) return []
  const { at, diff, found, wanted, error, code, signal } = diag as Record<string, unknown>
  const place = at as { fileName?: string; lineNumber?: number } | undefined
  const seen = Object.entries({ error, code, signal, diff, found, wanted })
    // A difference says both sides already.
    .filter(([name, value]) => value != null && !(diff != null && /^(found|wanted)$/.test(name)))
    .flatMap(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
      return text.includes('\n') ? [`${name}:`, ...text.split('\n')] : [`${name}: ${text}`]
    })
  const lines = [
    ...(place?.fileName === undefined ? [] : [`at ${place.fileName}:${place.lineNumber}`]),
    ...seen,
  ]
  return lines.slice(0, most).map((line) => `  ${line}`)
}

/**
 * Runs the compiled test files of `npm test`, `npm run test:long` or `npm run test:further`, or those whose path begins
 * with an argument, many to a process, and says which took longest.
 *
 * tap's own runner loads into each of them, and into all that they start, what follows every module for coverage and
 * for mocks. Neither is used, and it costs more than most tests; `env` keeps it out.
 */

const SHOWN = 20
/** Of what was found and wanted. */
const LINES_SHOWN = 24

const folder = fileURLToPath(new URL('../..', import.meta.url))
const wanted = process.argv.slice(2)
/** Whether this is `npm run test:further`. */
const isFurther = process.env['TESTS_FURTHER'] === '1'
const every = readdirSync(folder, { encoding: 'utf8', recursive: true }).filter(
  (path) => path.endsWith('.test.js') && path.startsWith('test/'),
)
const found = chosen()
const left = wanted.length === 0 ? every.length - found.length : 0
const leftLines =
  left === 0
    ? []
    : [`${left} files run only in ${isFurther ? 'npm test' : 'npm run test:long'} (test/run)`]

function chosen(): readonly string[] {
  if (wanted.length > 0)
    return every.filter((path) => wanted.some((prefix) => path.startsWith(prefix)))
  if (isFurther) return furtherFiles(folder, every)
  return isLong ? every : every.filter((path) => !isOnlyAtLength(path))
}
const { computing, waiting } = lists(found)

const scratch = scratchFolder()
const notes = mkdtempSync(join(scratch, 'tollgate-run-'))
const usageFile = join(notes, 'usage')
const worker = fileURLToPath(new URL('worker.js', import.meta.url))

// Each file has a bound of its own, all together have none.
t.setTimeout(0)
const jobs = Number(process.env['TAP_JOBS'] ?? 1)
t.jobs = jobs + (waiting.length > 0 ? 1 : 0)
const timeoutMs = timeLimitS * 1_000
/** What failed, said again at the very end: where only the end of a long output is kept, that is the part needed. */
const failed: string[] = []
t.parser.on('fail', ({ fullname, diag }) => {
  failed.push(`FAILED ${fullname}`, ...failureLines(diag, LINES_SHOWN))
})
/** How many tests were skipped, by the reason. */
const skipped = new Map<string, number>()
t.parser.on('skip', ({ skip }) => {
  const reason = typeof skip === 'string' ? skip : 'no reason is given'
  skipped.set(reason, (skipped.get(reason) ?? 0) + 1)
})

function skippedLines(): readonly string[] {
  return [...skipped].map(
    ([reason, count]) => `${count} ${count === 1 ? 'test was' : 'tests were'} skipped: ${reason}`,
  )
}

t.teardown(() => {
  for (const line of [...usageLines(used(), SHOWN), ...leftLines, ...skippedLines(), ...failed])
    t.comment(line)
  rmSync(notes, { recursive: true, force: true })
})

function used(): readonly Usage[] {
  const lines = readFileSync(usageFile, 'utf8').trim().split('\n')
  return lines.map((text) => JSON.parse(text) as Usage)
}

/** What was compiled of modules that many processes load; versions of Node that cannot keep it ignore this. */
const compiled = `NODE_COMPILE_CACHE=${join(notes, 'compiled')}`

/** A gateway that does not become ready in this time is left to the tests to explain. */
const WARM_MS = 30_000

/**
 * Starts the program once and ends it in order, beside the first tests: what node compiled of it is kept then. Those
 * that tests kill keep nothing, and a start without it takes a quarter more processor time.
 */
async function keepCompiled(): Promise<void> {
  const program = fileURLToPath(new URL('../../product/src/main.js', import.meta.url))
  const place = mkdtempSync(join(scratch, 'tollgate-compiled-'))
  chmodSync(place, 0o711)
  const { PATH = '', HOME = '/' } = process.env
  const child = spawn(
    'env',
    [
      '-i',
      `PATH=${PATH}`,
      `HOME=${HOME}`,
      compiled,
      'PORT=0',
      `DATA_DIR=${join(place, 'data')}`,
    ].concat(process.execPath, program, 'serve'),
    { stdio: ['ignore', 'pipe', 'ignore'], cwd: place },
  )
  const late = setTimeout(() => child.kill(), WARM_MS)
  const ended = once(child, 'exit')
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('"msg":"ready"') && !line.includes('"child"')) child.kill('SIGTERM')
  })
  await ended
  clearTimeout(late)
  rmSync(place, { recursive: true, force: true })
}

/** A list of files with so many processes at a time. */
async function runList(name: string, paths: readonly string[], count: number): Promise<void> {
  const taken = join(notes, name)
  mkdirSync(taken)
  await Promise.all(Array.from({ length: count }, () => work(paths, taken)))
}

/** One process after another: each ends when all files are taken, or when it holds much memory. */
async function work(paths: readonly string[], taken: string): Promise<void> {
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

// A few files start too few gateways to make up for it.
const keeping = wanted.length === 0 ? keepCompiled() : undefined
await Promise.all([runList('computing', computing, jobs), runList('waiting', waiting, 1)])
await keeping
t.same(
  used()
    .map(({ path }) => path)
    .sort(),
  [...found].sort(),
  'every file ran to its end',
)
// The gate has everything that a test may need; elsewhere a run shows what it can.
if (process.env['TESTS_REQUIRE_ALL'] === '1') t.same(skippedLines(), [], 'no test was skipped')
