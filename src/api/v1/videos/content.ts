import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OpenResult, TaskKey, TaskView } from '../../../app/tasks/types.ts'
import type { Catalog } from '../../../domain/families/catalog.ts'
import { callerGone } from '../../kit/caller.ts'
import { videoRules } from './families.ts'

/** What the part of a video a caller wants is called among its result links. */
function linkOf(catalog: Catalog, variant: string) {
  return ({ family }: TaskView): string | undefined => {
    const { video, picture } = videoRules(catalog, family).links
    if (variant === 'video') return video
    return variant === 'thumbnail' ? picture : undefined
  }
}

/** Bytes of a video, a part of them where the caller wants that and upstream gives it. */
export async function sendContent(
  catalog: Catalog,
  openResult: OpenResult,
  key: TaskKey,
  variant: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { range } = request.headers
  const gone = callerGone(reply)
  const asked = { ...key, linkOf: linkOf(catalog, variant), range, signal: gone.signal }
  const { status, headers, body } = await openResult(asked)
  const { 'content-type': type = '', ...rest } = headers
  void reply.code(status).headers({ ...rest, 'cache-control': 'private' })
  // Whatever else upstream calls it must not be shown as a page of ours.
  return reply.type(/^(?:video|image)\//.test(type) ? type : 'application/octet-stream').send(body)
}
