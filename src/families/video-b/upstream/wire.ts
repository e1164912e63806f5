import { Compile } from 'typebox/compile'
import { invariant } from '../../../kernel/assert.ts'
import { losslessCount } from '../../kit/http/fields.ts'
import { jsonInPieces } from '../../kit/http/json-in-pieces.ts'
import type { TaskWire } from '../../kit/task/wire.ts'
import { observationOf } from './convert.ts'
import { readNumberedError } from './errors.ts'
import { upstreamContent } from './content.ts'
import { CreateAnswerSchema, ListAnswerSchema } from './schemas.ts'

const CREATE_PATH = '/v2/video_generation'
const QUERY_PATH = '/v2/query/video_generation'

const createAnswer = Compile(CreateAnswerSchema)
const listAnswer = Compile(ListAnswerSchema)

/** The `/provB` video family. */
export const videoBWire: TaskWire = {
  family: 'video-b',
  // Its lists are of everything the account made, and show nothing a caller or we could choose.
  maxListIds: 0,
  maxListSize: 20,
  maxListPages: 500,
  showsMarkers: false,
  credentialHeaders: ({ credential }) => ({ authorization: `Bearer ${credential}` }),
  createPath: () => CREATE_PATH,
  createBody: ({ model, body }) => jsonInPieces({ ...upstreamContent(body), model }),
  taskPath: (nativeId) => `${QUERY_PATH}/${encodeURIComponent(nativeId)}`,
  cancelRequest: (nativeId) => ({
    method: 'DELETE',
    path: `${CREATE_PATH}/${encodeURIComponent(nativeId)}`,
  }),
  listPath: (wanted) => {
    invariant('page' in wanted, 'upstream lists by pages')
    return `${QUERY_PATH}?page_num=${wanted.page}&page_size=${wanted.pageSize}`
  },
  readError: readNumberedError,
  readCreated: (body) => (createAnswer.Check(body) ? String(body.task_id) : undefined),
  readTask: observationOf,
  readList: (body) =>
    listAnswer.Check(body) ? { items: body.tasks, total: losslessCount(body.total) } : undefined,
}
