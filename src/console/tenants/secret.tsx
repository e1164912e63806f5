import type { JSX } from 'preact'
import { tokenHref } from '../kit/href.ts'

/** A secret on a page that is shown once, as the answer to the form that made it. */
export function SecretPanel({
  title,
  secret,
  tokenId,
  children,
}: {
  readonly title: string
  readonly secret: string
  readonly tokenId: string
  /** Words about the secret before, where there is one. */
  readonly children?: JSX.Element
}): JSX.Element {
  return (
    <section class="panel secret" aria-labelledby="secret">
      <h1 id="secret" class="title">
        {title}
      </h1>
      <p>
        <input type="text" readOnly value={secret} aria-label="Secret" />
      </p>
      <p class="note">Copy it now: it is shown once and is not stored. {children}</p>
      <p class="note">
        <a href={tokenHref(tokenId)}>The token</a>
      </p>
    </section>
  )
}
