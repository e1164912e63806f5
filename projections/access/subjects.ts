import type { Queryable } from '../engine/queryable.ts'

/** Tokens of one subject that are looked at. */
const MOST_OF_SUBJECT = 10

/**
 * The hashes of the secrets of a subject's tokens that are not disabled, the newest token first. Tables of earlier
 * versions have no column of subjects, and no token is found in them.
 */
export async function secretsOfSubject(
  db: Queryable,
  subject: string,
): Promise<readonly { readonly tokenId: string; readonly secretHash: string }[]> {
  const { rows } = await db.query<{ token_id: string; secret_hash: string }>({
    name: 'access.tokens.subject',
    text: `select t.token_id, s.secret_hash
           from (values (null::text)) as none (subject)
           cross join lateral (select token_id, issued_at from access.tokens
             where subject = $1 and disabled_at is null) as t
           join access.secrets s on s.token_id = t.token_id and s.valid_until is null
           order by t.issued_at desc, t.token_id desc limit ${MOST_OF_SUBJECT}`,
    values: [subject],
  })
  return rows.map((row) => ({ tokenId: row.token_id, secretHash: row.secret_hash }))
}
