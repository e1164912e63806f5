import type { JSX } from 'preact'
import { viewReasonHref } from '../kit/href.ts'

/** Asks a reader from outside a tenant for the reason to view it. */
export function ViewReasonPage({
  tenantId,
  next,
  fault,
}: {
  readonly tenantId: string
  /** The path to go on to. */
  readonly next: string
  /** The words of the refusal, and what was written. */
  readonly fault: { readonly message: string; readonly reason: string } | undefined
}): JSX.Element {
  return (
    <section class="panel sign-in">
      <h1>Reason to view {tenantId}</h1>
      <p>
        Your token belongs to another tenant. Say why you view this one; you are asked once per
        session.
      </p>
      <form method="post" action={viewReasonHref()}>
        <input type="hidden" name="tenant_id" value={tenantId} />
        <input type="hidden" name="next" value={next} />
        <label>
          <span>Reason</span>
          <input
            name="reason"
            value={fault?.reason ?? ''}
            placeholder="case 4711: charged twice"
            required
            autofocus
            autocomplete="off"
            maxLength={256}
            aria-invalid={fault === undefined ? undefined : 'true'}
            aria-describedby={fault === undefined ? 'seen' : 'fault seen'}
          />
        </label>
        {fault === undefined ? null : (
          <p id="fault" class="fault" role="alert">
            {fault.message}
          </p>
        )}
        <button type="submit">View tenant</button>
      </form>
      <p id="seen" class="note">
        The log keeps the reason. The tenant sees that an operator viewed it, when and why, but not
        who.
      </p>
    </section>
  )
}
