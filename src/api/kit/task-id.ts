import type { FastifyRequest } from 'fastify'
import type { TaskKey } from '../../app/tasks/types.ts'
import { DomainError } from '../../kernel/errors.ts'
import { principalOf } from './authenticate.ts'

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
