import type { FastifyReply } from 'fastify'
import type { CreatedTask, TaskView } from '../../app/tasks/types.ts'
import { costHeaders } from './cost.ts'
import { REPLAYED } from './idempotency-key.ts'

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
