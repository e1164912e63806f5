import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Principal } from '../../../app/access/principal.ts'
import type { CreateTask } from '../../../app/tasks/types.ts'
import { isPresent, own, text } from '../../../domain/families/checks/fields.ts'
import { acceptVideoBRequest } from '../../../domain/families/video-b/request.ts'
import { upstreamBodyOf } from '../../../domain/families/video-b/upstream-body.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { principalOf } from '../../kit/authenticate.ts'
import { bodyHashOf } from '../../kit/body-hash.ts'
import { idempotencyKeyOf } from '../../kit/idempotency-key.ts'
import { objectBody } from '../../kit/json-body.ts'
import { publicUrl } from '../../kit/public-url.ts'
import { tellCreated } from '../../kit/task-answer.ts'
import { locateMedia, type MediaDeps } from './media.ts'
import type { CreatedVideoSchema } from './schemas.ts'

const MAX_CALLBACK_URL_LENGTH = 2_048

export interface CreateDeps extends MediaDeps {
  readonly createTask: CreateTask
}

async function callbackUrlOf(body: JsonObject, { resolveHost }: MediaDeps) {
  const param = 'callback_url'
  if (!isPresent(body, param)) return undefined
  return publicUrl(text(own(body, param), param, MAX_CALLBACK_URL_LENGTH), param, resolveHost)
}

/**
 * What a body asks for: the catalog's rules, then what takes more than the body.
 * @throws DomainError `invalid_request`, `invalid_duration`, `unknown_model`
 */
export async function readVideo(body: JsonObject, principal: Principal, deps: MediaDeps) {
  const accepted = acceptVideoBRequest(body)
  const { urlOf, channelId } = await locateMedia(accepted.media, principal, deps)
  const upstreamBody = upstreamBodyOf(accepted, urlOf, await callbackUrlOf(body, deps))
  const { model, facts } = accepted
  return { family: 'video-b', model: model.name, facts, upstreamBody, channelId } as const
}

/**
 * `POST …/video_generation`: the catalog's rules, then what takes more than the body, then the use case.
 * Every answer once the id exists carries `x-platform-id`.
 */
export function createVideoHandler(deps: CreateDeps) {
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Static<typeof CreatedVideoSchema>> => {
    const key = idempotencyKeyOf(request)
    const principal = principalOf(request)
    const created = await deps.createTask({
      ...(await readVideo(objectBody(request.body), principal, deps)),
      principal,
      surface: 'provB.video',
      requestId: request.id,
      callerMarker: undefined,
      executionExpiresAfterS: undefined,
      idempotencyKey: key,
      bodyHash: bodyHashOf(request),
    })
    tellCreated(reply, created)
    return { task_id: created.nativeId, platform_id: created.platformId }
  }
}
