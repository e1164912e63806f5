import { Compile } from 'typebox/compile'
import { readDottedError } from '../../kit/http/dotted-errors.ts'
import { losslessCount } from '../../kit/http/fields.ts'
import type { TaskWire, Wanted } from '../../kit/task/wire.ts'
import { observationOf } from './convert.ts'
import { CreateAnswerSchema, ListAnswerSchema } from './schemas.ts'

const TASKS_PATH = '/contents/generations/tasks'
/** Ids of one list: keeps the request line within what every proxy takes. */
const MAX_LIST_IDS = 100

const createAnswer = Compile(CreateAnswerSchema)
const listAnswer = Compile(ListAnswerSchema)

/** The `/provA` video family. */
export const videoAWire: TaskWire = {
  family: 'video-a',
  maxListIds: MAX_LIST_IDS,
  // Bounds of `page_size` and `page_num` on the wire.
  maxListSize: 500,
  maxListPages: 500,
  showsMarkers: true,
  credentialHeaders: ({ credential }) => ({ authorization: `Bearer ${credential}` }),
  createPath: () => TASKS_PATH,
  createBody: ({ model, body, marker }) => ({ ...body, model, safety_identifier: marker }),
  taskPath: (nativeId) => `${TASKS_PATH}/${encodeURIComponent(nativeId)}`,
  listPath: (wanted) => `${TASKS_PATH}?${listQuery(wanted).toString()}`,
  readError: readDottedError,
  readCreated: (body) => (createAnswer.Check(body) ? body.id : undefined),
  readTask: observationOf,
  readList: (body) =>
    listAnswer.Check(body) ? { items: body.items, total: losslessCount(body.total) } : undefined,
}

function listQuery(wanted: Wanted): URLSearchParams {
  const query = new URLSearchParams()
  if ('nativeIds' in wanted) {
    query.set('page_num', '1')
    query.set('page_size', String(MAX_LIST_IDS))
    // The wire takes a repeated parameter, not a comma-separated one.
    for (const id of wanted.nativeIds) query.append('filter.task_ids', id)
  } else {
    query.set('page_num', String(wanted.page))
    query.set('page_size', String(wanted.pageSize))
  }
  return query
}
