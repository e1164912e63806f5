import { linesHref } from '../kit/href.ts'
import { TAB_HREFS } from '../kit/tabs.tsx'
import { pageRoute } from '../page.tsx'
import { fileRoute } from '../page-files.ts'
import type { Subject } from '../subject.ts'
import { creditsFile, creditsPage } from './credits.tsx'
import { holdsFile, holdsPage } from './holds.tsx'
import { linePage } from './line.tsx'
import { linesFile, linesPage } from './lines.tsx'
import { movementsFile, movementsPage } from './movements.tsx'
import { proofRoute } from './proof.ts'
import { summaryFile, summaryPage } from './summary.tsx'

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
    fileRoute(app, services, linesPage, linesFile)
    fileRoute(app, services, summaryPage, summaryFile)
    fileRoute(app, services, movementsPage, movementsFile)
    pageRoute(app, services, creditsPage)
    pageRoute(app, services, holdsPage)
    fileRoute(app, services, creditsPage, creditsFile)
    fileRoute(app, services, holdsPage, holdsFile)
  },
}
