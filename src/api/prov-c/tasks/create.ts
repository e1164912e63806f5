import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { CreateTask } from '../../../app/tasks/types.ts'
import type { VideoCMode } from '../../../domain/families/video-c/models.ts'
import {
  acceptVideoCRequest,
  type AcceptedVideoC,
} from '../../../domain/families/video-c/request.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { principalOf } from '../../kit/authenticate.ts'
import { bodyHashOf } from '../../kit/body-hash.ts'
import { idempotencyKeyOf } from '../../kit/idempotency-key.ts'
import { objectBody } from '../../kit/json-body.ts'
import { publicUrl } from '../../kit/public-url.ts'
import { tellCreated } from '../../kit/task-answer.ts'
import type { CreatedClipSchema } from '../schemas.ts'
import { settingsOf } from './view.ts'

/** The body for upstream, its callback checked and written the way it was checked. */
async function withCheckedCallback(
  { callbackUrl, upstreamBody }: AcceptedVideoC,
  resolve: ResolveHost,
): Promise<AcceptedVideoC['upstreamBody']> {
  if (callbackUrl === undefined) return upstreamBody
  return { ...upstreamBody, callback_url: await publicUrl(callbackUrl, 'callback_url', resolve) }
}

/**
 * What a body asks for: the catalog's rules, then the callback's host.
 * @throws DomainError `invalid_request`, `invalid_duration`, `unknown_model`
 */
export async function readClip(mode: VideoCMode, body: JsonObject, resolve: ResolveHost) {
  const accepted = acceptVideoCRequest(mode, body)
  const upstreamBody = await withCheckedCallback(accepted, resolve)
  const { model, facts, payload } = accepted
  return { payload, family: 'video-c', model: model.name, facts, upstreamBody } as const
}

/**
 * `POST /ent/v2/<mode>`: the catalog's rules, then the callback's host, then the use case. Every answer
 * once the id exists carries `x-platform-id`.
 */
export function createClipHandler(mode: VideoCMode, createTask: CreateTask, resolve: ResolveHost) {
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Static<typeof CreatedClipSchema>> => {
    const idempotencyKey = idempotencyKeyOf(request)
    const { payload, ...asked } = await readClip(mode, objectBody(request.body), resolve)
    const { model, facts } = asked
    const created = await createTask({
      ...asked,
      principal: principalOf(request),
      // A key used in one mode is another task's in the next.
      surface: `provC.${mode}`,
      requestId: request.id,
      callerMarker: payload,
      executionExpiresAfterS: undefined,
      idempotencyKey,
      bodyHash: bodyHashOf(request),
    })
    tellCreated(reply, created)
    return {
      task_id: created.nativeId,
      id: created.nativeId,
      platform_id: created.platformId,
      state: 'created',
      model,
      ...settingsOf(facts.settings),
      payload: payload ?? '',
      created_at: toTimestamp(created.createdAtMs),
    }
  }
}
