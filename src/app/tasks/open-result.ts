import { FetchFault } from '../../kernel/public-fetch.ts'
import { createOpenFiles } from '../spending/open-files.ts'
import type { TaskDeps } from './deps.ts'
import { type TaskLookup, viewOf } from './reads.ts'
import { taskError } from './task-log.ts'
import type { OpenResult, OpenedResult, TaskView } from './types.ts'

/** Files that one process streams in parallel. */
const MAX_OPEN = 256
/** From the request to the head of the answer, redirects included. */
const FIRST_BYTE_TIMEOUT_MS = 30_000
/** Longest silence within a file. */
const IDLE_TIMEOUT_MS = 60_000

/** Upstream's statuses for a link that has ended: signed, or used too often. */
const ENDED: ReadonlySet<number> = new Set([401, 403, 404, 410])

/** Streams the file behind a result link. */
export function createOpenResult(deps: TaskDeps, lookUp: TaskLookup): OpenResult {
  const openFiles = createOpenFiles(MAX_OPEN)
  return async ({ linkOf, range, signal, ...key }) => {
    const { row, urls } = await lookUp(key)
    const view = viewOf(row, urls)
    const url = linkTo(view, linkOf(view))
    const channel = deps.channels.byId(row.channelId)
    const release = openFiles.take(key.principal.tenantId)
    try {
      const opened = await deps.openPublic(url, {
        range,
        signal,
        firstByteTimeoutMs: FIRST_BYTE_TIMEOUT_MS,
        idleTimeoutMs: IDLE_TIMEOUT_MS,
        ...(channel === undefined ? {} : { trustedOrigin: new URL(channel.baseUrl).origin }),
      })
      opened.body.once('close', release)
      return judged(view, opened)
    } catch (error) {
      release()
      if (!(error instanceof FetchFault)) throw error
      deps.logger.info({ platformId: row.platformId, reason: error.reason }, 'result not opened')
      throw taskError('upstream_unavailable', 'The file is temporarily unavailable', row.platformId)
    }
  }
}

function linkTo(view: TaskView, name: string | undefined): string {
  const url = name === undefined ? undefined : view.urls?.[name]
  if (url !== undefined) return url
  const open = view.status === 'queued' || view.status === 'running'
  const why = open
    ? 'The video is not finished yet'
    : 'The video has no such file, or no longer has it'
  throw taskError('result_not_available', why, view.platformId)
}

function judged(view: TaskView, opened: OpenedResult): OpenedResult {
  const { status, body } = opened
  if (status === 200 || status === 206 || status === 416) return opened
  body.destroy()
  if (ENDED.has(status))
    throw taskError('result_not_available', 'The link to the file has expired', view.platformId)
  throw taskError('upstream_unavailable', 'The file is temporarily unavailable', view.platformId)
}
