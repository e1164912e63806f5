import { isOperator } from '../../domain/token/events.ts'
import { operationsHref } from '../kit/href.ts'
import { pageRoute } from '../page.tsx'
import type { Subject } from '../subject.ts'
import { operationsPage } from './operations.tsx'

export const operations: Subject = {
  place: {
    href: operationsHref(),
    name: 'Operations',
    isShownTo: (token) => isOperator(token) && token.role === undefined,
  },
  register: (app, services) => {
    pageRoute(app, services, operationsPage)
  },
}
