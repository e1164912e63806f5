import { DomainError } from '../../kernel/errors.ts'

const taskId = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** Whether text can be a task's id at all; nothing else is ever looked up. */
export function isTaskId(text: string): boolean {
  return taskId.test(text)
}

/** The id of the path. @throws DomainError `task_not_found` when it cannot be one */
export function taskIdOf(text: string): string {
  if (!isTaskId(text)) throw new DomainError('task_not_found', 'no such task', {})
  return text
}
