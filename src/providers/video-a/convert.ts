import { Value } from 'typebox/value'
import type { TaskObservation } from '../../app/ports.ts'
import type { TaskUsage } from '../../domain/task/events.ts'
import { COMPLETION_TOKENS, toolUnit, TOTAL_TOKENS } from '../../domain/families/video-a/units.ts'
import type { Scrubber } from '../kit/http/scrub.ts'
import { outputFields, TaskSchema, urlFields, type WireTask } from './wire.ts'

/** From the wire of the `/provA` video family to what the use cases understand. */

const MAX_LABEL_LENGTH = 64
const MAX_VALUE_LENGTH = 128
const MAX_URL_LENGTH = 4_096
/** Later than any date in seconds, earlier than any in milliseconds (the year 5138 / 1973). */
const SECONDS_BELOW = 100_000_000_000

const statuses = new Set(['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled'])

function isKnownStatus(text: string): text is Exclude<TaskObservation['status'], 'unknown'> {
  return statuses.has(text)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A count as it was measured, or nothing: never rounded, never guessed. */
export function countOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0
    ? number
    : undefined
}

/** Reads the measured usage; members that are not counts are left out, none at all is undefined. */
export function usageOf(value: unknown): TaskUsage | undefined {
  if (!isRecord(value)) return undefined
  const tools = isRecord(value['tool_usage']) ? value['tool_usage'] : {}
  const measured = [
    [COMPLETION_TOKENS, value['completion_tokens']] as const,
    [TOTAL_TOKENS, value['total_tokens']] as const,
    ...Object.entries(tools)
      .filter(([name]) => name.length <= MAX_LABEL_LENGTH)
      .map(([name, raw]) => [toolUnit(name), raw] as const),
  ].flatMap(([unit, raw]) => {
    const count = countOf(raw)
    return count === undefined ? [] : [[unit, count] as const]
  })
  return measured.length === 0 ? undefined : Object.fromEntries(measured)
}

function outputOf(task: WireTask): TaskObservation['output'] {
  const source: Readonly<Record<string, unknown>> = task
  const output: Record<string, string | number | boolean | null> = {}
  for (const name of outputFields) {
    const value = source[name]
    if (typeof value === 'boolean' || value === null) output[name] = value
    else if (typeof value === 'number' && Number.isFinite(value)) output[name] = value
    else if (typeof value === 'string' && value.length <= MAX_VALUE_LENGTH) output[name] = value
  }
  return output
}

function urlsOf(content: unknown): Readonly<Record<string, string>> | undefined {
  if (!isRecord(content)) return undefined
  const urls: Record<string, string> = {}
  for (const name of urlFields) {
    const value = content[name]
    if (typeof value === 'string' && value !== '' && value.length <= MAX_URL_LENGTH)
      urls[name] = value
  }
  return Object.keys(urls).length === 0 ? undefined : urls
}

function timeMs(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number) || number <= 0) return undefined
  return Math.round(number < SECONDS_BELOW ? number * 1_000 : number)
}

/** Codes are shown to callers and kept in the log: only what looks like one passes. */
export function codeOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Za-z][\w.-]{0,119}$/.test(value) ? value : undefined
}

function errorOf(value: unknown, scrub: Scrubber): TaskObservation['error'] {
  if (!isRecord(value)) return undefined
  const message = typeof value['message'] === 'string' ? value['message'] : ''
  return { code: codeOf(value['code']) ?? 'service_error', message: scrub(message) }
}

/** One task of the wire, or undefined when it is not one. */
export function observationOf(value: unknown, scrub: Scrubber): TaskObservation | undefined {
  if (!Value.Check(TaskSchema, value)) return undefined
  const word = value.status.slice(0, MAX_LABEL_LENGTH)
  const usage = usageOf(value.usage)
  const error = errorOf(value.error, scrub)
  const urls = urlsOf(value.content)
  const createdAtMs = timeMs(value.created_at)
  const updatedAtMs = timeMs(value.updated_at)
  return {
    nativeId: value.id,
    status: isKnownStatus(word) ? word : 'unknown',
    upstreamStatus: word,
    ...(typeof value.model === 'string' ? { upstreamModel: value.model } : {}),
    ...(typeof value.safety_identifier === 'string' ? { marker: value.safety_identifier } : {}),
    ...(usage === undefined ? {} : { usage }),
    output: outputOf(value),
    ...(error === undefined ? {} : { error }),
    ...(urls === undefined ? {} : { urls }),
    ...(createdAtMs === undefined ? {} : { createdAtMs }),
    ...(updatedAtMs === undefined ? {} : { updatedAtMs }),
  }
}
