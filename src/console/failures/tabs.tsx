import type { JSX } from 'preact'
import { failedHref, repeatsHref, speedHref } from '../kit/href.ts'
import { TABS } from '../kit/tabs.tsx'

/** Links between failures, what was charged twice and speed, which keep the tenant and the time zone of the page. */
export function FailureTabs({
  at,
  asked: { tenant_id, tz },
}: {
  readonly at: 'failed' | 'repeats' | 'speed'
  readonly asked: { readonly tenant_id?: string | undefined; readonly tz?: string | undefined }
}): JSX.Element {
  const current = (name: typeof at) => (name === at ? 'page' : undefined)
  return (
    <nav class="tabs" id={TABS} aria-label="Failures">
      <a href={failedHref({ tenant_id, tz })} aria-current={current('failed')}>
        Failed and refused
      </a>
      <a href={repeatsHref({ tenant_id, tz })} aria-current={current('repeats')}>
        Charged twice
      </a>
      <a href={speedHref({ tenant_id, tz })} aria-current={current('speed')}>
        Speed
      </a>
    </nav>
  )
}
