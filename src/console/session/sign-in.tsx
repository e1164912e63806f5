import type { JSX } from 'preact'
import { chooseAccessHref, enterHref, signInByNameHref, signInHref } from '../kit/href.ts'

/** Signs in with a token, or by name where there is a provider. */
export function SignInPage({
  next,
  fault,
  providerHost,
}: {
  /** The host that says who a person is; undefined: people sign in with tokens alone. */
  readonly providerHost?: string | undefined
  /** The path to go on to. */
  readonly next: string
  /** The reason for which the last try was refused. */
  readonly fault?: string | undefined
}): JSX.Element {
  return (
    <section class="panel sign-in">
      <h1>Sign in</h1>
      {providerHost === undefined ? null : (
        <p class="by-name">
          <a class="button" href={signInByNameHref({ next })}>
            Sign in by name
          </a>
          <span class="note">at {providerHost}</span>
        </p>
      )}
      <form method="post" action={signInHref()}>
        <input type="hidden" name="next" value={next} />
        <label>
          <span>Token</span>
          <input
            type="password"
            name="token"
            required
            autofocus
            autocomplete="current-password"
            spellcheck={false}
            aria-invalid={fault === undefined ? undefined : 'true'}
            aria-describedby={fault === undefined ? 'which' : 'fault which'}
          />
        </label>
        {fault === undefined ? null : (
          <p id="fault" class="fault" role="alert">
            {fault}
          </p>
        )}
        <button type="submit">Sign in</button>
      </form>
      <p id="which" class="note">
        Use a query token <code>qak-…</code> or an admin token <code>adm-…</code>. The session has
        the rights of the token. It ends after 30 minutes without a page, after 12 hours, or when
        the token is disabled.
      </p>
    </section>
  )
}

/** Signs in with a one-time code. A page before it, since previews of links open them too. */
export function EnterPage({ code }: { readonly code: string }): JSX.Element {
  return (
    <section class="panel sign-in">
      <h1>Open the console</h1>
      <p>This link signs you in once, as the administrator of the demo.</p>
      <form method="post" action={enterHref()}>
        <input type="hidden" name="code" value={code} />
        <button type="submit" autofocus>
          Open
        </button>
      </form>
    </section>
  )
}

/** A token that a person can sign in with, in words. */
export interface AccessChoice {
  readonly tokenId: string
  readonly role: string
  /** The tenant, or all of them. */
  readonly sees: string
}

/** Lets a person who has tokens of several tenants choose one of them. */
export function ChooseAccessPage({
  subject,
  choices,
}: {
  readonly subject: string
  readonly choices: readonly AccessChoice[]
}): JSX.Element {
  return (
    <section class="panel sign-in">
      <h1>Choose</h1>
      <p>{subject} has access here in several ways. A session is one of them.</p>
      <form method="post" action={chooseAccessHref()}>
        {choices.map(({ tokenId, role, sees }) => (
          <button key={tokenId} type="submit" name="token" value={tokenId}>
            {sees}, as {role}
          </button>
        ))}
      </form>
    </section>
  )
}
