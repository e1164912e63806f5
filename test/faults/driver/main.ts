import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { checkout } from '../../helpers/checkout.ts'
import { buildProduct } from '../../helpers/product.ts'
import { taskPoints } from './lives.ts'
import { type Report, runFaults } from './run.ts'

const HELP = `npm run faults -- [--kills N] [--seed S] [--cluster] [--data DIR] [--keep] [--json]

Builds the gateway and sends it mixed traffic against a simulated upstream that is never killed: videos
of every family, speech at once and as tasks, images at once and asynchronously, files, samples, cloned
voices, assets and persons that are verified. Meanwhile it kills with SIGKILL the gateway, its event store
and its Postgres, at random moments and at every named point between two steps of a task, a call, a file or
an asset. After the last kill everything may settle; then what upstream accepted is compared with the log,
the ledger and the lists of callers.

  --kills N   kills in all (default 100; at least 30)
  --seed S    the run's dice (default: new ones); a run that failed prints its own
  --tasks     only the named points of the life of a task that upstream makes, each when a gateway first
              comes to it
  --text      then the tests of text calls that are killed, with the same dice
  --cluster   the log is a pretended EventStoreDB cluster of three, named whole in EVENTSTORE_URL, beside a
              Postgres that is no child of the gateway. All the while its leader changes: in order, deposed
              with its open appends or connections ended, killed or frozen with the next one elected later;
              for moments no member leads, none is ready, appends are committed and never answered, or a
              follower is killed or frozen. A kill of the event store is then one of all its members. The
              members share one log: a follower that is behind is not pretended
  --data DIR  where the run keeps its data (default: a new folder below ${tmpdir()})
  --keep      leave that data behind, logs included
  --json      print the report as JSON

Exit code 0: no difference. 1: differences, listed with the seed. 2: bad command line.`

const FEWEST_KILLS = 30
const SHOWN = 100
/** Bound of each test, as those of a test itself are written. */
const TEXT_TIMEOUT_S = '600'

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '100' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
      tasks: { type: 'boolean', default: false },
      text: { type: 'boolean', default: false },
      data: { type: 'string' },
      keep: { type: 'boolean', default: false },
      cluster: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  const kills = Number(values.kills)
  if (!Number.isSafeInteger(kills) || kills < FEWEST_KILLS) {
    process.stderr.write(`--kills must be a whole number from ${FEWEST_KILLS}\n`)
    return 2
  }
  const directory = resolve(values.data ?? (await mkdtemp(join(tmpdir(), 'tollgate-faults-'))))
  // Postgres may have to run under another account, which must get through.
  if (values.data === undefined) await chmod(directory, 0o711)
  const startedMs = performance.now()
  const say = (line: string): void => {
    const at = ((performance.now() - startedMs) / 1_000).toFixed(1)
    process.stderr.write(`${at.padStart(7)} s  ${line}\n`)
  }
  say(`seed ${values.seed}, ${kills} kills, data in ${directory}`)
  try {
    // Not where tests look for one: that may be cleared away long before this run ends.
    const building = join(directory, 'build')
    await mkdir(building, { recursive: true })
    await symlink(fileURLToPath(new URL('node_modules', checkout)), join(building, 'node_modules'))
    const built = await buildProduct(join(building, 'dist'))
    const report = await runFaults({
      build: built,
      directory: join(directory, 'run'),
      kills,
      seed: values.seed,
      cluster: values.cluster,
      ...(values.tasks ? { among: taskPoints(), mostHits: 1 } : {}),
      say,
    })
    process.stdout.write(values.json ? `${JSON.stringify(report, undefined, 2)}\n` : shown(report))
    const passed = !values.text || (await textTests(values.seed, say))
    if (report.differences.length === 0 && passed) return 0
    process.stderr.write(
      `replay with: npm run faults -- --kills ${kills} --seed ${values.seed}${values.tasks ? ' --tasks' : ''}${values.text ? ' --text' : ''}${values.cluster ? ' --cluster' : ''}\n`,
    )
    return 1
  } finally {
    if (!values.keep) await rm(directory, { recursive: true, force: true })
  }
}

/** Runs the tests of text calls with these dice, one after the other; whether all of them passed. */
async function textTests(seed: string, say: (line: string) => void): Promise<boolean> {
  const folder = new URL('../text/', import.meta.url)
  const names = (await readdir(folder)).filter((name) => name.endsWith('.test.ts')).sort()
  let passed = true
  for (const name of names) {
    const path = fileURLToPath(new URL(name, folder))
    const env = { ...process.env, FAULTS_SEED: seed, TAP_TIMEOUT: TEXT_TIMEOUT_S }
    const test = spawn(process.execPath, ['--import=tsx', path], {
      stdio: ['ignore', process.stderr, 'inherit'],
      env,
      cwd: fileURLToPath(checkout),
    })
    const [code] = await once(test, 'exit')
    say(`${name}: ${code === 0 ? 'passed' : `ended with ${String(code)}`}`)
    passed &&= code === 0
  }
  return passed
}

function shown(report: Report): string {
  const { kills, killsInAll, clusterChanges, answers, figures, differences, seconds } = report
  const table = (title: string, rows: Readonly<Record<string, number>>): string[] => [
    title,
    ...Object.entries(rows).map(([name, count]) => `  ${String(count).padStart(7)}  ${name}`),
  ]
  const codes: Record<string, number> = {}
  for (const { code } of differences) codes[code] = (codes[code] ?? 0) + 1
  return `${[
    ...table(`${killsInAll} kills in ${seconds} s`, kills),
    ...table('changes of the cluster', clusterChanges),
    ...table('answers to callers', answers),
    ...table('what became of it', figures),
    ...table(`${differences.length} difference(s)`, codes),
    ...differences.slice(0, SHOWN).map((one) => `  ${one.code}  ${one.subject}  ${one.message}`),
  ].join('\n')}\n`
}

// Ending by way of `exit` takes the gateway and the sandbox along.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => process.exit(1))

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(
    `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  )
  return 1
})
