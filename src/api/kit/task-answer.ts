import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CreatedTask, TaskAssets, TaskKey, TaskView } from '../../app/tasks/types.ts'
import type { AssetReference } from '../../domain/catalog/checks/media.ts'
import { DomainError } from '../../kernel/errors.ts'
import { principalOf } from './authenticate.ts'
import { costHeaders } from './answer-headers.ts'
import { REPLAYED } from './idempotency.ts'

/** What answers about tasks have in common on every surface. */

/** What the answer to a creation says outside its body. */
export function tellCreated(
  reply: FastifyReply,
  { platformId, replayed }: Pick<CreatedTask, 'platformId' | 'replayed'>,
): void {
  void reply.header('x-platform-id', platformId)
  if (replayed) void reply.header(REPLAYED, 'true')
}

/** What the answer to a query of one task says outside its body. */
export function tellTask(
  reply: FastifyReply,
  { platformId, cost }: Pick<TaskView, 'platformId' | 'cost'>,
): void {
  void reply.headers({ 'x-platform-id': platformId, ...costHeaders(cost) })
}

/** Those settings and actual specs that a surface shows; what else is kept of a task stays inside. */
export function shownSettings(settings: TaskView['settings'], names: readonly string[]) {
  const shown = names.flatMap((name) => {
    const value = settings[name]
    return value === undefined || value === null ? [] : [[name, value] as const]
  })
  return Object.fromEntries(shown)
}

const taskId = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** Whether text can be a task's id at all; nothing else is ever looked up. */
export function isTaskId(text: string): boolean {
  return taskId.test(text)
}

/**
 * The task a request names by its platform or native id, of the tenant that asks.
 * @throws DomainError `task_not_found` for what cannot be an id
 */
export function taskKeyOf(request: FastifyRequest, family: TaskKey['family'], id: string): TaskKey {
  if (!isTaskId(id)) throw new DomainError('task_not_found', 'no such task', {})
  return { principal: principalOf(request), family, id, requestId: request.id }
}

const ASSET_TYPES = { image: 'Image', video: 'Video', audio: 'Audio' } as const

/** The assets of a creation, named as one member of its body; undefined where it uses none. */
export function taskAssetsOf(
  references: readonly AssetReference[],
  param: string,
  { projectName, bodyWith }: Pick<TaskAssets, 'projectName' | 'bodyWith'>,
): TaskAssets | undefined {
  if (references.length === 0) return undefined
  const assets = references.map(({ assetId, kind }) => ({
    assetId,
    assetType: ASSET_TYPES[kind],
    param,
  }))
  return { assets, projectName, bodyWith }
}
