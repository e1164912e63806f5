import { isJsonObject } from '../../../kernel/json.ts'
import type { TaskWire, Wanted } from '../../kit/task/wire.ts'
import { idOf, observationOf } from './convert.ts'
import { readReasonError } from './errors.ts'

const BASE = '/ent/v2'
/** What one page of a list takes, ids it is asked for included. */
const PAGE_SIZE = 100

const taskPath = (nativeId: string, part: string): string =>
  `${BASE}/tasks/${encodeURIComponent(nativeId)}/${part}`

/** The `/provC` video family. */
export const videoCWire: TaskWire = {
  family: 'video-c',
  maxListIds: PAGE_SIZE,
  maxListSize: PAGE_SIZE,
  maxListPages: 500,
  showsMarkers: true,
  credentialHeaders: ({ credential }) => ({ authorization: `Token ${credential}` }),
  createPath: ({ settings }) => `${BASE}/${String(settings['mode'])}`,
  createBody: ({ model, body, marker }) => ({ ...body, model, payload: marker }),
  taskPath: (nativeId) => taskPath(nativeId, 'creations'),
  cancelRequest: (nativeId) => ({
    method: 'POST',
    path: taskPath(nativeId, 'cancel'),
    body: { id: nativeId },
  }),
  listPath: (wanted) => `${BASE}/tasks?${listQuery(wanted).toString()}`,
  readError: readReasonError,
  readCreated: (body) => (isJsonObject(body) ? idOf(body['task_id'] ?? body['id']) : undefined),
  readTask: (body, _scrub, asked) => observationOf(body, asked),
  readList: (body) => {
    const tasks = isJsonObject(body) ? body['tasks'] : undefined
    // How many there are in all is not told.
    return Array.isArray(tasks) ? { items: tasks, total: undefined } : undefined
  },
}

/** Its pages are numbered from 0, newest first. */
function listQuery(wanted: Wanted): URLSearchParams {
  const query = new URLSearchParams()
  if ('nativeIds' in wanted) {
    query.set('pager.page', '0')
    query.set('pager.pagesz', String(PAGE_SIZE))
    for (const id of wanted.nativeIds) query.append('task_ids', id)
  } else {
    query.set('pager.page', String(wanted.page - 1))
    query.set('pager.pagesz', String(wanted.pageSize))
  }
  return query
}
