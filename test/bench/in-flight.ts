import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { pollIntervalMs } from '../../src/app/tasks/watch/intervals.ts'
import { percentile, type Benchmark, type Figure } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { startGateway, type BenchGateway } from './kit/gateway.ts'
import { watchMemory } from './kit/process.ts'
import { sized } from './kit/sizes.ts'

/**
 * Many tasks in flight at once, nobody but the gateway asking for them. They all begin before the
 * first of them ends and end evenly over a while. For each success: when the provider had it, and
 * when the gateway had it in its log, against the interval at which it was to be asked for then.
 */

const TASKS = sized(10_000, 60)
const CONCURRENT = 50
const REQUESTS_PER_SECOND = 20
/** From the first creation to the first end: all of them must be in flight by then. */
const BEFORE_ENDS_MS = sized(120_000, 8_000)
/** The ends are spread over this. */
const ENDS_MS = sized(150_000, 6_000)
/** After the last was created, which may be quick: the last to end are looked for a minute longer. */
const GIVE_UP_MS = BEFORE_ENDS_MS + ENDS_MS + 60_000
const POLL_OPERATIONS = ['video-a.list', 'video-a.get']

async function createAll(gateway: BenchGateway, firstEndMs: number): Promise<void> {
  const pool = new Pool(gateway.url, { connections: CONCURRENT, pipelining: 1 })
  const headers = {
    authorization: `Bearer ${gateway.token}`,
    'content-type': 'application/json',
  }
  let begun = 0
  const caller = async (): Promise<void> => {
    while (begun < TASKS) {
      const n = begun
      begun += 1
      // In another order than they were created in, so that age and end do not go together.
      const endMs = firstEndMs + (((n * 7_919) % TASKS) / TASKS) * ENDS_MS
      const runningMs = Math.round(endMs - Date.now())
      const answer = await pool.request({
        method: 'POST',
        path: '/provA/api/v3/contents/generations/tasks',
        headers,
        body: JSON.stringify({
          model: 'domestic-video-2-0-mini',
          duration: 5,
          resolution: '480p',
          content: [
            { type: 'text', text: `a boat [[sandbox queued-ms=0 running-ms=${runningMs}]]` },
          ],
        }),
      })
      const text = await answer.body.text()
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text.slice(0, 300)}`)
    }
  }
  try {
    await Promise.all(Array.from({ length: CONCURRENT }, caller))
  } finally {
    await pool.close()
  }
}

async function getJson<T>(url: string): Promise<T> {
  const answer = await fetch(url)
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
  return (await answer.json()) as T
}

interface Counts {
  readonly routes: Readonly<Record<string, { readonly count: number }>>
}

/** Counts polling requests second by second at the provider, until told to end. */
function watchRequests(sandboxUrl: string): { readonly end: () => Promise<readonly number[]> } {
  const perSecond: number[] = []
  const stopping = new AbortController()
  const watch = async (): Promise<void> => {
    let last: { readonly count: number; readonly atMs: number } | undefined
    while (!stopping.signal.aborted) {
      const { routes } = await getJson<Counts>(`${sandboxUrl}/__sandbox/requests`)
      const count = POLL_OPERATIONS.reduce((sum, name) => sum + (routes[name]?.count ?? 0), 0)
      const atMs = performance.now()
      if (last !== undefined) perSecond.push(((count - last.count) / (atMs - last.atMs)) * 1_000)
      last = { count, atMs }
      await sleep(1_000, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const watching = watch()
  return {
    end: async () => {
      stopping.abort()
      await watching
      return perSecond
    },
  }
}

interface Accepted {
  readonly seq: number
  readonly id: string
  readonly success: boolean
  readonly accepted_at: string
  readonly ends_at: string | null
}

async function acceptedTasks(sandboxUrl: string): Promise<readonly Accepted[]> {
  const all: Accepted[] = []
  let after: number | null = 0
  while (after !== null) {
    const page: { readonly items: readonly Accepted[]; readonly next_after: number | null } =
      await getJson(`${sandboxUrl}/__sandbox/accepted?after=${after}&limit=10000`)
    all.push(...page.items)
    after = page.next_after
  }
  return all
}

/** When each success was durable in the log, by the provider's id. */
async function seenTimes(gateway: BenchGateway): Promise<ReadonlyMap<string, number>> {
  const seen = new Map<string, number>()
  for (const line of (await gateway.command('events')).split('\n')) {
    if (!line.includes('"TaskSettled"')) continue
    const event = JSON.parse(line) as {
      readonly type: string
      readonly recordedAt: string
      readonly data: { readonly nativeId?: string }
    }
    if (event.type === 'TaskSettled' && event.data.nativeId !== undefined)
      seen.set(event.data.nativeId, Date.parse(event.recordedAt))
  }
  return seen
}

async function untilAllSeen(gateway: BenchGateway): Promise<void> {
  const untilMs = performance.now() + GIVE_UP_MS
  for (;;) {
    const ended = await gateway.metric('tollgate_tasks_ended_total')
    if (ended >= TASKS || performance.now() > untilMs) return
    tell(`in flight: ${ended} of ${TASKS} seen`)
    await sleep(5_000)
  }
}

interface Lateness {
  readonly missing: number
  readonly lateMs: readonly number[]
  /** Shares of the poll interval that was due. */
  readonly intervals: readonly number[]
  readonly within: number
}

function latenessOf(tasks: readonly Accepted[], seen: ReadonlyMap<string, number>): Lateness {
  const lateMs: number[] = []
  const intervals: number[] = []
  let missing = 0
  for (const task of tasks) {
    const seenMs = seen.get(task.id)
    if (!task.success || task.ends_at === null) continue
    if (seenMs === undefined) {
      missing += 1
      continue
    }
    const endMs = Date.parse(task.ends_at)
    const late = Math.max(0, seenMs - endMs)
    lateMs.push(late)
    intervals.push(late / pollIntervalMs(endMs - Date.parse(task.accepted_at), 1))
  }
  return { missing, lateMs, intervals, within: intervals.filter((share) => share <= 2).length }
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const gateway = closers.add(
      await startGateway({ POLL_REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND) }),
    )
    const { sandboxUrl } = gateway
    if (sandboxUrl === undefined) throw new Error('the gateway has no sandbox')
    const memory = watchMemory(gateway.pid)
    const requests = watchRequests(sandboxUrl)
    const startedMs = Date.now()
    await createAll(gateway, startedMs + BEFORE_ENDS_MS)
    const createdMs = Date.now() - startedMs
    tell(`in flight: ${TASKS} created in ${(createdMs / 1_000).toFixed(0)} s`)
    if (createdMs > BEFORE_ENDS_MS) tell('in flight: some ended before all had begun')
    await untilAllSeen(gateway)
    const perSecond = await requests.end()
    const { peakMib, childrenMib } = await memory.end()
    const tasks = await acceptedTasks(sandboxUrl)
    const late = latenessOf(tasks, await seenTimes(gateway))
    const of = `${TASKS.toLocaleString('en')} tasks in flight`
    const all = late.intervals.length + late.missing
    const figures: readonly Figure[] = [
      {
        name: `${of}, polling requests to one channel, most in a second`,
        value: Math.max(...perSecond),
        unit: 'requests/s',
        // Counted once a second, not on the second: one more may fall into a count.
        reach: REQUESTS_PER_SECOND + 1,
        bound: 'most',
        note: `POLL_REQUESTS_PER_SECOND=${REQUESTS_PER_SECOND}; created in ${(createdMs / 1_000).toFixed(0)} s${createdMs > BEFORE_ENDS_MS ? ', some ended before all had begun' : ''}`,
      },
      {
        name: `${of}, successes seen within 2 × their poll interval`,
        value: (late.within / all) * 100,
        unit: '%',
        reach: 100,
        note: `${late.within} of ${all}; ${late.missing} not seen within ${GIVE_UP_MS / 1_000} s`,
      },
      {
        name: `${of}, from end to settled in the log, latest in poll intervals`,
        value: Math.max(...late.intervals),
        unit: 'intervals',
        reach: 2,
        bound: 'most',
        note: `p50 ${percentile(late.intervals, 50).toFixed(2)}, p99 ${percentile(late.intervals, 99).toFixed(2)}`,
      },
      {
        name: `${of}, from end to settled in the log, p99`,
        value: percentile(late.lateMs, 99) / 1_000,
        unit: 's',
      },
      {
        name: `${of}, peak memory of the gateway`,
        value: peakMib,
        unit: 'MiB',
        reach: 300,
        bound: 'most',
      },
      {
        name: `${of}, memory of its children at the end`,
        value: childrenMib,
        unit: 'MiB',
        note: 'event store, Postgres (shared pages counted in each process) and sandbox',
      },
    ]
    return figures
  })
