import { linesHref } from '../kit/href.ts'
import { TAB_HREFS } from '../kit/tabs.tsx'
import { pageRoute } from '../page.tsx'
import type { Subject } from '../subject.ts'
import { linePage } from './line.tsx'
import { linesPage } from './lines.tsx'
import { movementsPage } from './movements.tsx'
import { proofRoute } from './proof.ts'
import { summaryPage } from './summary.tsx'

export const ledger: Subject = {
  place: {
    href: linesHref(),
    name: 'Ledger',
    below: TAB_HREFS,
    isShownTo: ({ role }) => role !== 'support',
  },
  register: (app, services) => {
    pageRoute(app, services, linesPage)
    pageRoute(app, services, linePage)
    proofRoute(app, services)
    pageRoute(app, services, summaryPage)
    pageRoute(app, services, movementsPage)
  },
}
