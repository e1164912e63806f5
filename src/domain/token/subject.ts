import { DomainError } from '../../kernel/errors.ts'
import { mayHaveRole, type TokenKind } from './events.ts'

/** Subjects: people as an identity provider names them. A token of a subject has no secret that anyone gets. */

/** The longest subject, in characters. */
export const MAX_SUBJECT_LENGTH = 200

/** Blanks at an end, control characters, and what changes the direction of text. */
const unfit = /^\s|\s$|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/**
 * The subject as it is stored and compared: in an address of e-mail, A to Z are lower case. Other letters stay as they
 * are, since the lower case of some of them is an ASCII letter, and would be another person.
 */
export function subjectNamed(text: string): string {
  return text.includes('@') ? text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : text
}

/** Whether a text can be a subject. */
export function isSubject(text: string): boolean {
  return text !== '' && text.length <= MAX_SUBJECT_LENGTH && !unfit.test(text)
}

/** @throws DomainError `token_scope_invalid` */
export function checkSubject({
  tokenId,
  kind,
  subject,
}: {
  readonly tokenId: string
  readonly kind: TokenKind
  readonly subject?: string
}): void {
  if (subject === undefined) return
  const refuse = (message: string): never => {
    throw new DomainError('token_scope_invalid', message, { tokenId, param: 'subject' })
  }
  if (!mayHaveRole(kind)) refuse('only a query or an admin token has a subject')
  if (!isSubject(subject))
    refuse(`a subject has 1 to ${MAX_SUBJECT_LENGTH} characters, without blanks at its ends`)
}
