import type { Catalog } from '../../domain/catalog/catalog.ts'
import { latestEndMs, longestWaitsMs } from '../../domain/catalog/latest-end.ts'
import type { Pool } from 'pg'
import {
  awaitingUsage,
  pollBacklog,
  type UnclearTask,
  unclearTasks,
} from '../../../projections/tasks/query.ts'
import { type LastAudit, readLastAudit } from '../../app/audit/last-audit.ts'
import type { ChannelDirectory } from '../../app/channels/directory.ts'
import type { Channel } from '../../app/ports/provider.ts'
import { monotonicClock } from '../../kernel/clock.ts'
import { type PresentWorker, presentWorkers } from '../../app/queue/presence.ts'
import { readSilentSpools, type SilentSpools } from '../../app/spending/lost-spools.ts'
import { RequestError } from '../kit/request-error.ts'
import { createReadiness, type Health, type Readiness, withProbeTimeout } from './health.ts'

/** Operators read here the figures of readiness and metrics, and the tasks behind them. */

/** Most tasks that one list names. */
export const MAX_UNCLEAR = 50

export interface OperationsReads {
  /** The state of this process, and of the read models. */
  readonly readiness: () => Promise<Readiness>
  readonly workers: () => Promise<readonly PresentWorker[]>
  /** The channels in this process, and how their calls ended last. */
  readonly channels: ChannelDirectory['health']
  /** A channel as it is configured, without its address and its credential; undefined if there is none. */
  readonly channel: (id: string) => ShownChannel | undefined
  /** The problems that were found last, for an operator; this read waits for no store. */
  readonly attention: () => Attention
  /** Work in the background by its kind. */
  readonly work: (nowMs: number) => ReturnType<typeof pollBacklog>
  /** Tasks whose submission has no known outcome: at most 51. */
  readonly uncertain: () => Promise<readonly UnclearTask[]>
  /** Tasks that are made and whose usage is not known: how many, and at most 50 of them. */
  readonly withoutUsage: () => Promise<{
    readonly open: number
    readonly tasks: readonly UnclearTask[]
  }>
  /** Settlements that wait in spools of processes that have stopped reporting. */
  readonly silentSpools: () => Promise<readonly SilentSpools[]>
  /** Undefined: none ever ended. */
  readonly lastAudit: () => Promise<LastAudit | undefined>
}

/** A channel as the channel file has it. */
interface ShownChannel extends Pick<Channel, 'family' | 'region' | 'priority' | 'weight'> {
  readonly maxConcurrent: number
  readonly timeoutMs: number
  /** External names. */
  readonly models: readonly string[]
}

/** The problems that need an operator now. */
export interface Attention {
  /** Why the process is not ready; undefined before the first look. */
  readonly reasons: readonly string[] | undefined
  /** Ids of channels that are paused after failures. */
  readonly paused: readonly string[]
}

const shownChannel = (channel: Channel): ShownChannel => {
  const { family, region, priority, weight, maxConcurrent, timeoutMs, models } = channel
  const names = Object.keys(models).sort()
  return {
    family,
    ...(region === undefined ? {} : { region }),
    priority,
    weight,
    maxConcurrent,
    timeoutMs,
    models: names,
  }
}

/** Most often that the head of a page has the channels looked at. */
const GLANCE_MS = 1_000

/** Answers with what was found last, and looks again meanwhile. */
function createGlance(
  readiness: OperationsReads['readiness'],
  channels: OperationsReads['channels'],
): OperationsReads['attention'] {
  let reasons: readonly string[] | undefined
  let paused: readonly string[] = []
  let lookedAtMs = Number.NEGATIVE_INFINITY
  return () => {
    const nowMs = monotonicClock.nowMs()
    if (nowMs - lookedAtMs >= GLANCE_MS) {
      lookedAtMs = nowMs
      paused = channels()
        .filter(({ breaker }) => breaker !== 'closed')
        .map(({ id }) => id)
    }
    // Shared by all that ask within a second.
    void readiness().then((found) => (reasons = found.reasons))
    return { reasons, paused }
  }
}

/** Reads for a panel: a store that does not answer in time is an outage, in words. */
async function answered<Found>(read: () => Promise<Found>): Promise<Found> {
  try {
    return await withProbeTimeout(read)
  } catch (error) {
    throw new RequestError('outage', 'Postgres does not answer', undefined, error)
  }
}

/** The reads of operators over this process and its database. */
export function readOperations({
  db,
  health,
  channels,
  catalog,
}: {
  readonly db: Pool
  readonly health: Health
  readonly channels: Pick<ChannelDirectory, 'health' | 'byId'>
  readonly catalog: Pick<Catalog, 'taskFamily' | 'taskFamilies'>
}): OperationsReads {
  const readiness = createReadiness(health)
  return {
    readiness,
    channel: (id) => {
      const channel = channels.byId(id)
      return channel && shownChannel(channel)
    },
    attention: createGlance(readiness, channels.health),
    workers: () => answered(() => presentWorkers(db)),
    channels: channels.health,
    work: (nowMs) => answered(() => pollBacklog(db, nowMs)),
    uncertain: () => answered(() => unclearTasks(db, 'submission', MAX_UNCLEAR + 1)),
    withoutUsage: () =>
      answered(async () => {
        const [{ open }, tasks] = await Promise.all([
          awaitingUsage(db, longestWaitsMs(catalog.taskFamilies)),
          unclearTasks(db, 'usage', MAX_UNCLEAR),
        ])
        // Each of them is with its provider, and asked for beyond its deadline.
        const asked = tasks.map((task) => ({
          ...task,
          expiresAtMs: latestEndMs(catalog.taskFamily(task.family), task),
        }))
        return { open, tasks: asked }
      }),
    silentSpools: () => answered(() => readSilentSpools(db)),
    lastAudit: () => answered(() => readLastAudit(db)),
  }
}
