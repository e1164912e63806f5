import { Compile } from 'typebox/compile'
import type { TaskObservation } from '../../../app/ports.ts'
import { videoBUnits } from '../rules/units.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import { codeOf, losslessCount, objectOf } from '../../kit/http/fields.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import { MAX_LABEL_LENGTH, settingsOf, timeMs, urlsOf } from '../../kit/task/fields.ts'
import { outputFields, TaskSchema, urlFields } from './schemas.ts'

/** From the wire of the `/provB` video family to what the use cases understand. */

const statuses = new Set(['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled'])

function isKnownStatus(text: string): text is Exclude<TaskObservation['status'], 'unknown'> {
  return statuses.has(text)
}

/** Reads the measured usage; members that are not counts are left out, none at all is undefined. */
export function usageOf(value: unknown): Usage | undefined {
  const usage = objectOf(value)
  const measured = videoBUnits.flatMap((unit) => {
    const count = losslessCount(usage[unit])
    return count === undefined ? [] : [[unit, count] as const]
  })
  return measured.length === 0 ? undefined : Object.fromEntries(measured)
}

/** Its codes are numbers, written as text. */
function errorOf(value: unknown, scrub: Scrubber): TaskObservation['error'] {
  if (!isJsonObject(value)) return undefined
  const { code, message } = value
  const number = /^\d{1,8}$/.exec(String(code))?.[0]
  const said = typeof message === 'string' ? message : ''
  return { code: number ?? codeOf(code) ?? 'server_error', message: scrub(said) }
}

/** Many are read with every list that is polled. */
const task = Compile(TaskSchema)

/** A task of the wire, in its envelope or as lists hold it; undefined when it is none. */
export function observationOf(body: unknown, scrub: Scrubber): TaskObservation | undefined {
  const value = isJsonObject(body) && isJsonObject(body['task']) ? body['task'] : body
  if (!task.Check(value)) return undefined
  const word = value.status.slice(0, MAX_LABEL_LENGTH)
  const usage = usageOf(value.usage)
  const error = errorOf(value.error, scrub)
  const urls = urlsOf(value.content, urlFields)
  const createdAtMs = timeMs(value.created_at)
  const updatedAtMs = timeMs(value.updated_at)
  return {
    nativeId: String(value.id),
    status: isKnownStatus(word) ? word : 'unknown',
    upstreamStatus: word,
    ...(typeof value.model === 'string' ? { upstreamModel: value.model } : {}),
    ...(usage === undefined ? {} : { usage }),
    output: settingsOf(value, outputFields),
    ...(error === undefined ? {} : { error }),
    ...(urls === undefined ? {} : { urls }),
    ...(createdAtMs === undefined ? {} : { createdAtMs }),
    ...(updatedAtMs === undefined ? {} : { updatedAtMs }),
  }
}
