import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Machine } from '../../faults/driver/machine.ts'
import { lastingPort } from '../../helpers/lasting-port.ts'
import { builtProduct } from '../../helpers/product.ts'
import { callInVain, callOnceEach } from './calls.ts'
import { dashboards, expressionsOf } from './dashboards.ts'
import { type Prometheus, startPrometheus } from './prometheus.ts'

/**
 * A real Prometheus scrapes a gateway under load (`.ci/watch`). Ends with 0 once every expression of every dashboard
 * has a series, every rule is evaluated, and of the alarms only the watchdog fires or is about to.
 */

/** No machine is so busy; a fault that stays is reported then. */
const WITHIN_MS = 600_000
const PAUSE_MS = 500
/** So many rounds have calls in vain: too few to use up the budget for errors. */
const ROUNDS_IN_VAIN = 3
/** Alarms about the speed of the machine: on a busy one they may be pending. */
const ofSpeed = new Set(['TollgateSlowAnswers', 'TollgateEventLoopBlocked'])

const expressions = dashboards.flatMap(expressionsOf)

/** All that is not as it should be. */
async function faultsOf(prometheus: Prometheus): Promise<readonly string[]> {
  const faults: string[] = []
  for (const { place, expr } of expressions)
    if ((await prometheus.query(expr)).length === 0) faults.push(`${place}: no series of ${expr}`)
  for (const { name, health, lastError } of await prometheus.rules())
    if (health !== 'ok') faults.push(`${name}: ${health} ${lastError ?? ''}`)
  for (const { labels, state } of await prometheus.alarms()) {
    const { alertname: name = '' } = labels
    if (name !== 'TollgateWatchdog' && !(state === 'pending' && ofSpeed.has(name)))
      faults.push(
        `${name} ${state === 'firing' ? 'fires' : 'is pending'}: ${JSON.stringify(labels)}`,
      )
  }
  return faults
}

/** The alarms that have fired since the start, whether or not they still do. */
async function fired(prometheus: Prometheus): Promise<readonly string[]> {
  const series = await prometheus.query(
    'count by (alertname) (last_over_time(ALERTS{alertstate="firing"}[1h]))',
  )
  return series.map(({ metric }) => metric['alertname'] ?? '')
}

/** Sends calls until nothing is at fault; returns how many rounds it took. @throws with the faults that stay */
async function load(machine: Machine, prometheus: Prometheus): Promise<number> {
  const demo = await machine.demo()
  const url = machine.address ?? ''
  const untilMs = Date.now() + WITHIN_MS
  for (let rounds = 1; ; rounds += 1) {
    await callOnceEach(url, demo)
    if (rounds <= ROUNDS_IN_VAIN) await callInVain(url, demo)
    if (rounds === ROUNDS_IN_VAIN) {
      const { exitCode, output } = await machine.command(['audit'])
      if (exitCode !== 0) throw new Error(output)
    }
    await sleep(PAUSE_MS)
    const faults = await faultsOf(prometheus)
    if (faults.length === 0 && rounds >= ROUNDS_IN_VAIN) return rounds
    if (Date.now() > untilMs) throw new Error(faults.join('\n'))
  }
}

async function run(folder: string, machine: Machine, operationsPort: number): Promise<string> {
  if ((await machine.start()) === 'ended') throw new Error(machine.tail())
  // Before the first call: an increase is one from what was scraped before.
  const prometheus = await startPrometheus(folder, operationsPort)
  try {
    const rounds = await load(machine, prometheus)
    const firing = await fired(prometheus)
    if (firing.join(' ') !== 'TollgateWatchdog') throw new Error(`fired: ${firing.join(', ')}`)
    const rules = await prometheus.rules()
    const alarms = rules.filter(({ type }) => type === 'alerting').length
    await machine.stop()
    return `${expressions.length} expressions have series, ${alarms} alarms are loaded and only the watchdog fires, after ${rounds} rounds of calls`
  } finally {
    await prometheus.stop()
  }
}

// Processes that it started end with it.
process.on('SIGTERM', () => process.exit(1))
const folder = await mkdtemp(join(tmpdir(), 'tollgate-watch-'))
const operationsPort = await lastingPort()
const machine = new Machine({
  build: await builtProduct(),
  dataDir: join(folder, 'data'),
  logFile: join(folder, 'gateway.log'),
  environment: {
    OPERATIONS_PORT: String(operationsPort),
    SANDBOX_TIME_SCALE: '0.1',
    POLL_SCALE: '0.2',
    // A profile token meets it soon.
    ACCOUNT_RATE_LIMIT_RPM: '3',
  },
})
try {
  process.stdout.write(`watch: ${await run(folder, machine, operationsPort)}\n`)
} catch (error) {
  process.exitCode = 1
  process.stderr.write(`watch: ${error instanceof Error ? error.message : String(error)}\n`)
} finally {
  await machine.clear()
  await rm(folder, { recursive: true, force: true })
}
process.exit()
