import { overviewHref } from '../kit/href.ts'
import { pageRoute } from '../page.tsx'
import type { Subject } from '../subject.ts'
import { overviewPage } from './overview.tsx'

export const overview: Subject = {
  place: { href: overviewHref(), name: 'Overview', isShownTo: () => true },
  register: (app, services) => {
    pageRoute(app, services, overviewPage)
  },
}
