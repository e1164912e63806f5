import type { DomainError } from '../../kernel/errors.ts'

/** A detail of a domain error that is a text; an empty one says nothing and counts as absent. */
export function textDetail(error: DomainError, name: string): string | undefined {
  const value = error.details[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A detail of a domain error that is a finite number. */
export function numberDetail(error: DomainError, name: string): number | undefined {
  const value = error.details[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
