import type { TaskObservation } from '../../../app/ports/provider.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'

/** Members of an upstream's task, read so that what is kept of them is bounded. */

/** Longest word or name that is kept. */
export const MAX_LABEL_LENGTH = 64
const MAX_VALUE_LENGTH = 128
const MAX_URL_LENGTH = 4_096
/** Later than any date in seconds, earlier than any in milliseconds (the year 5138 / 1973). */
const SECONDS_BELOW = 100_000_000_000

/** A time in seconds or milliseconds, also as digits, in Unix milliseconds. */
export function timeMs(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number) || number <= 0) return undefined
  return Math.round(number < SECONDS_BELOW ? number * 1_000 : number)
}

const statuses: ReadonlySet<string> = new Set([
  'queued',
  'running',
  'succeeded',
  'failed',
  'expired',
  'cancelled',
])

function isKnownStatus(word: string): word is Exclude<TaskObservation['status'], 'unknown'> {
  return statuses.has(word)
}

/** A task on a wire that names statuses and times as we do. */
export interface WireTask {
  readonly id: string | number
  readonly status: string
  readonly model?: unknown
  readonly content?: unknown
  readonly created_at?: unknown
  readonly updated_at?: unknown
}

/** What such a task says of itself; `outputFields` are its settings, `urlFields` its result links. */
export function observedTask(
  task: WireTask & JsonObject,
  { usage, error }: Pick<TaskObservation, 'usage' | 'error'>,
  outputFields: readonly string[],
  urlFields: readonly string[],
): TaskObservation {
  const word = task.status.slice(0, MAX_LABEL_LENGTH)
  const urls = urlsOf(task.content, urlFields)
  const createdAtMs = timeMs(task.created_at)
  const updatedAtMs = timeMs(task.updated_at)
  return {
    nativeId: String(task.id),
    status: isKnownStatus(word) ? word : 'unknown',
    upstreamStatus: word,
    output: settingsOf(task, outputFields),
    ...(typeof task.model === 'string' ? { upstreamModel: task.model } : {}),
    ...(usage === undefined ? {} : { usage }),
    ...(error === undefined ? {} : { error }),
    ...(urls === undefined ? {} : { urls }),
    ...(createdAtMs === undefined ? {} : { createdAtMs }),
    ...(updatedAtMs === undefined ? {} : { updatedAtMs }),
  }
}

/** Those of the named settings that are plain values. */
export function settingsOf(task: JsonObject, names: readonly string[]): TaskObservation['output'] {
  const settings: Record<string, string | number | boolean | null> = {}
  for (const name of names) {
    const value = task[name]
    if (typeof value === 'boolean' || value === null) settings[name] = value
    else if (typeof value === 'number' && Number.isFinite(value)) settings[name] = value
    else if (typeof value === 'string' && value.length <= MAX_VALUE_LENGTH) settings[name] = value
  }
  return settings
}

/** Those of the named result links that are there; undefined when none is. */
export function urlsOf(
  content: unknown,
  names: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (!isJsonObject(content)) return undefined
  const urls: Record<string, string> = {}
  for (const name of names) {
    const value = content[name]
    if (typeof value === 'string' && value !== '' && value.length <= MAX_URL_LENGTH)
      urls[name] = value
  }
  return Object.keys(urls).length === 0 ? undefined : urls
}
