import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { CreateTask } from '../../../app/tasks/types.ts'
import {
  acceptVideoARequest,
  type AcceptedVideoA,
} from '../../../domain/families/video-a/request.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { principalOf } from '../../kit/authenticate.ts'
import { idempotencyKeyOf } from '../../kit/idempotency-key.ts'
import { bodyHashOf, objectBody } from '../../kit/json-body.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { publicUrl } from '../../kit/public-url.ts'
import { tellCreated } from '../../kit/task-answer.ts'
import type { CreatedTaskSchema } from '../schemas.ts'

/** The body for upstream, its callback checked and written the way it was checked. */
async function withCheckedCallback(
  accepted: AcceptedVideoA,
  body: object,
  resolve: ResolveHost,
): Promise<AcceptedVideoA['upstreamBody']> {
  const { callbackUrl, upstreamBody } = accepted
  if (callbackUrl === undefined) return upstreamBody
  const param = Object.hasOwn(body, 'callback_url') ? 'callback_url' : 'CallbackURL'
  return { ...upstreamBody, callback_url: await publicUrl(callbackUrl, param, resolve) }
}

/**
 * `POST …/tasks`: the catalog's rules, then what takes more than the body (assets, the callback's
 * host), then the use case. Every answer once the id exists carries `x-platform-id`.
 */
export function createTaskHandler(createTask: CreateTask, resolve: ResolveHost) {
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Static<typeof CreatedTaskSchema>> => {
    const key = idempotencyKeyOf(request)
    const body = objectBody(request.body)
    const accepted = acceptVideoARequest(body)
    // There is no asset library yet, so no caller has an asset.
    if (accepted.assetIds.length > 0)
      throw new DomainError('asset_not_found', 'no such asset', { param: 'content' })
    const upstreamBody = await withCheckedCallback(accepted, body, resolve)
    const created = await createTask({
      principal: principalOf(request),
      family: 'video-a',
      surface: 'provA.tasks',
      requestId: request.id,
      model: accepted.model.name,
      facts: accepted.facts,
      upstreamBody,
      callerMarker: accepted.safetyIdentifier,
      executionExpiresAfterS: accepted.executionExpiresAfterS,
      idempotencyKey: key,
      bodyHash: bodyHashOf(request),
    })
    tellCreated(reply, created)
    return {
      id: created.nativeId,
      ...(accepted.model.generation === '2.5' ? { model: accepted.model.name } : {}),
    }
  }
}
