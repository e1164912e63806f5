import { Compile } from 'typebox/compile'
import type { TaskObservation } from '../../../app/ports.ts'
import { COMPLETION_TOKENS, toolUnit, TOTAL_TOKENS } from '../rules/units.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import { codeOf, losslessCount, objectOf } from '../../kit/http/fields.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import { MAX_LABEL_LENGTH, settingsOf, timeMs, urlsOf } from '../../kit/task/fields.ts'
import { outputFields, TaskSchema, urlFields } from './schemas.ts'

/** From the wire of the `/provA` video family to what the use cases understand. */

const statuses = new Set(['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled'])

function isKnownStatus(text: string): text is Exclude<TaskObservation['status'], 'unknown'> {
  return statuses.has(text)
}

/** Reads the measured usage; members that are not counts are left out, none at all is undefined. */
export function usageOf(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const tools = objectOf(value['tool_usage'])
  const measured = [
    [COMPLETION_TOKENS, value['completion_tokens']] as const,
    [TOTAL_TOKENS, value['total_tokens']] as const,
    ...Object.entries(tools)
      .filter(([name]) => name.length <= MAX_LABEL_LENGTH)
      .map(([name, raw]) => [toolUnit(name), raw] as const),
  ].flatMap(([unit, raw]) => {
    const count = losslessCount(raw)
    return count === undefined ? [] : [[unit, count] as const]
  })
  return measured.length === 0 ? undefined : Object.fromEntries(measured)
}

function errorOf(value: unknown, scrub: Scrubber): TaskObservation['error'] {
  if (!isJsonObject(value)) return undefined
  const message = typeof value['message'] === 'string' ? value['message'] : ''
  return { code: codeOf(value['code']) ?? 'service_error', message: scrub(message) }
}

/** Many are read with every list that is polled. */
const task = Compile(TaskSchema)

/** One task of the wire, or undefined when it is not one. */
export function observationOf(value: unknown, scrub: Scrubber): TaskObservation | undefined {
  if (!task.Check(value)) return undefined
  const word = value.status.slice(0, MAX_LABEL_LENGTH)
  const usage = usageOf(value.usage)
  const error = errorOf(value.error, scrub)
  const urls = urlsOf(value.content, urlFields)
  const createdAtMs = timeMs(value.created_at)
  const updatedAtMs = timeMs(value.updated_at)
  return {
    nativeId: value.id,
    status: isKnownStatus(word) ? word : 'unknown',
    upstreamStatus: word,
    ...(typeof value.model === 'string' ? { upstreamModel: value.model } : {}),
    ...(typeof value.safety_identifier === 'string' ? { marker: value.safety_identifier } : {}),
    ...(usage === undefined ? {} : { usage }),
    output: settingsOf(value, outputFields),
    ...(error === undefined ? {} : { error }),
    ...(urls === undefined ? {} : { urls }),
    ...(createdAtMs === undefined ? {} : { createdAtMs }),
    ...(updatedAtMs === undefined ? {} : { updatedAtMs }),
  }
}
