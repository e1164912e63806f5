import { CHARACTERS } from '../rules/pricing.ts'
import { SPEECH } from '../rules/rules.ts'
import type { TaskObservation } from '../../../app/ports/provider.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { bearerHeaders } from '../../kit/http/connections.ts'
import { losslessCount, objectOf, textOf } from '../../kit/http/fields.ts'
import { createTaskProvider } from '../../kit/task/client.ts'
import { MAX_LABEL_LENGTH, urlsOf, type TaskWire } from '../../kit/task/wire.ts'
import { baseRespOf, idOf, readError, statusOf } from '../../kit/media/base-resp.ts'

const CREATE_PATH = '/v1/t2a_async_v2'
const QUERY_PATH = '/v1/query/t2a_async_query_v2'
const FILE_PATH = '/v1/files/retrieve'
/** A wrong parameter; a query has none but the id. */
const INVALID = 2013

const states: ReadonlyMap<string, TaskObservation['status']> = new Map([
  ['processing', 'running'],
  ['success', 'succeeded'],
  ['failed', 'failed'],
  ['expired', 'expired'],
])

/** Speech that is made as a task. Upstream cannot list them nor cancel them. */
const speechTaskWire: TaskWire = {
  family: SPEECH,
  maxListIds: 0,
  maxListSize: 1,
  maxListPages: 0,
  showsMarkers: false,
  credentialHeaders: bearerHeaders,
  createPath: () => CREATE_PATH,
  createBody: ({ model, body }) => ({ model, ...body }),
  taskPath: (nativeId) => `${QUERY_PATH}?task_id=${encodeURIComponent(nativeId)}`,
  listPath: () => QUERY_PATH,
  statusOf: (body, asked) =>
    asked === 'query' && baseRespOf(body)?.code === INVALID ? 404 : statusOf(body),
  readError,
  readCreated: (body) => (isJsonObject(body) ? idOf(body['task_id']) : undefined),
  readUsage: (body) => {
    const characters = isJsonObject(body) ? losslessCount(body['usage_characters']) : undefined
    return characters === undefined ? undefined : { [CHARACTERS]: characters }
  },
  readTask,
  linksPath: ({ status, output }) =>
    status === 'succeeded' && typeof output['file_id'] === 'string'
      ? `${FILE_PATH}?file_id=${encodeURIComponent(output['file_id'])}`
      : undefined,
  readLinks: (body) => urlsOf(isJsonObject(body) ? body['file'] : undefined, ['download_url']),
  readList: () => undefined,
}

/** The adapter of speech that is made as a task. */
export function createSpeechTaskProvider(): ReturnType<typeof createTaskProvider> {
  return createTaskProvider(speechTaskWire)
}

function readTask(body: unknown): TaskObservation | undefined {
  if (!isJsonObject(body)) return undefined
  const nativeId = idOf(body['task_id'])
  const word = textOf(body['status'])
  if (nativeId === undefined || word === undefined) return undefined
  const status = states.get(word.toLowerCase()) ?? 'unknown'
  return {
    nativeId,
    status,
    upstreamStatus: word.slice(0, MAX_LABEL_LENGTH),
    output: outputOf(body),
    ...(status === 'failed' ? { error: FAILED } : {}),
  }
}

const FAILED = { code: 'speech_failed', message: 'The model service could not make the audio.' }

/** Id of the result upstream: its link expires long before. */
function outputOf(body: JsonObject): TaskObservation['output'] {
  const fileId = idOf(body['file_id']) ?? idOf(objectOf(body['file'])['file_id'])
  return fileId === undefined ? {} : { file_id: fileId }
}
