import { DomainError } from '../../kernel/errors.ts'
import type { CallInput } from './types.ts'

/** @throws DomainError `model_not_allowed` */
export function checkMayUse({ principal, model }: Pick<CallInput, 'principal' | 'model'>): void {
  if (principal.models !== undefined && !principal.models.has(model))
    throw new DomainError('model_not_allowed', `this token may not use ${model}`, { model })
}
