import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { CreateTask } from '../../../app/tasks/types.ts'
import {
  acceptVideoARequest,
  type AcceptedVideoA,
  videoAWithAssets,
} from '../../../domain/families/video-a/request.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { principalOf } from '../../kit/authenticate.ts'
import { bodyHashOf } from '../../kit/body-hash.ts'
import { idempotencyKeyOf } from '../../kit/idempotency-key.ts'
import { objectBody } from '../../kit/json-body.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { publicUrl } from '../../kit/public-url.ts'
import { taskAssetsOf } from '../../kit/task-assets.ts'
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
 * What a body asks for: the catalog's rules, then what takes more than the body.
 * @throws DomainError `invalid_request`, `invalid_duration`, `unknown_model`
 */
export async function readTask(body: JsonObject, resolve: ResolveHost) {
  const accepted = acceptVideoARequest(body)
  const upstreamBody = await withCheckedCallback(accepted, body, resolve)
  const { model, facts } = accepted
  const assets = taskAssetsOf(accepted.assets, 'content', {
    projectName: accepted.projectName,
    bodyWith: (nativeIds) => videoAWithAssets({ upstreamBody }, nativeIds),
  })
  return { accepted, family: 'video-a', model: model.name, facts, upstreamBody, assets } as const
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
    const { accepted, ...asked } = await readTask(body, resolve)
    const created = await createTask({
      ...asked,
      principal: principalOf(request),
      surface: 'provA.tasks',
      requestId: request.id,
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
