import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { CreateTask } from '../../../app/tasks/types.ts'
import type { VideoCMode } from '../../../domain/families/video-c/models.ts'
import {
  acceptVideoCRequest,
  type AcceptedVideoC,
} from '../../../domain/families/video-c/request.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { principalOf } from '../../kit/authenticate.ts'
import { idempotencyKeyOf } from '../../kit/idempotency-key.ts'
import { bodyHashOf, objectBody } from '../../kit/json-body.ts'
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
 * `POST /ent/v2/<mode>`: the catalog's rules, then the callback's host, then the use case. Every answer
 * once the id exists carries `x-platform-id`.
 */
export function createClipHandler(mode: VideoCMode, createTask: CreateTask, resolve: ResolveHost) {
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Static<typeof CreatedClipSchema>> => {
    const idempotencyKey = idempotencyKeyOf(request)
    const accepted = acceptVideoCRequest(mode, objectBody(request.body))
    const upstreamBody = await withCheckedCallback(accepted, resolve)
    const { model, facts, payload } = accepted
    const created = await createTask({
      principal: principalOf(request),
      family: 'video-c',
      // A key used in one mode is another task's in the next.
      surface: `provC.${mode}`,
      requestId: request.id,
      model: model.name,
      facts,
      upstreamBody,
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
      model: model.name,
      ...settingsOf(facts.settings),
      payload: payload ?? '',
      created_at: toTimestamp(created.createdAtMs),
    }
  }
}
