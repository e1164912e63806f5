import { failedHref } from '../kit/href.ts'
import { pageRoute } from '../page.tsx'
import type { Subject } from '../subject.ts'
import { failedPage } from './failed.tsx'

export const failures: Subject = {
  place: { href: failedHref(), name: 'Failed', isShownTo: () => true },
  register: (app, services) => {
    pageRoute(app, services, failedPage)
  },
}
