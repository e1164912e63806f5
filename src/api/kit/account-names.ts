import { Type } from 'typebox'

/** How accounts, users and tokens are named in requests. */

/** An id that is given to something new: it becomes a part of the name of a stream. */
export const NewId = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$', description })

/** An id of something that is there. */
export const KnownId = Type.String({ pattern: '^[\\x21-\\x7e]{1,128}$' })

/** One line of text that can be read: no control characters, and not blanks alone. */
const line = (maxLength: number, description: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: '^(?=.*\\S)[^\\x00-\\x1f\\x7f-\\x9f]*$',
    description,
  })

export const DisplayName = line(128, 'One line of 1 to 128 characters.')

export const Reason = line(
  256,
  'Why, for whoever reads the ledger: one line of 1 to 256 characters.',
)
