import { operationsHref } from '../kit/href.ts'
import { pageRoute } from '../page.tsx'
import { seesOperations } from '../session/reading-as.ts'
import type { Subject } from '../subject.ts'
import { operationsPage } from './operations.tsx'

export const operations: Subject = {
  place: {
    href: operationsHref(),
    name: 'Operations',
    isShownTo: seesOperations,
  },
  register: (app, services) => {
    pageRoute(app, services, operationsPage)
  },
}
