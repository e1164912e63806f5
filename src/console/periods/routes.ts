import { formRoute } from '../form-routes.ts'
import { periodsHref } from '../kit/href.ts'
import { pageRoute } from '../page.tsx'
import { fileRoute } from '../page-files.ts'
import type { Subject } from '../subject.ts'
import { boardFile, boardPage } from './board.tsx'
import { closeAllForm } from './close-all.tsx'
import { periodFileRoutes } from './files.tsx'
import { createLateFailures } from './late-failures.ts'
import { monthPage } from './month.tsx'
import { approveVoidForm, closeForm, proposeVoidForm, rejectVoidForm } from './month-forms.tsx'

export const periods: Subject = {
  place: {
    href: periodsHref(),
    name: 'Months',
    below: [`${periodsHref()}/`],
    isShownTo: ({ role }) => role !== 'support',
  },
  register: (app, services) => {
    const { accounts, clock } = services
    const failures = createLateFailures()
    const board = boardPage(failures)
    const month = monthPage(failures)
    pageRoute(app, services, board)
    pageRoute(app, services, month)
    fileRoute(app, services, board, boardFile)
    formRoute(app, services, board, closeAllForm(accounts.statements, failures, clock.nowMs))
    formRoute(app, services, month, closeForm(accounts, failures, clock.nowMs))
    formRoute(app, services, month, proposeVoidForm(accounts))
    formRoute(app, services, month, approveVoidForm(accounts))
    formRoute(app, services, month, rejectVoidForm(accounts))
    periodFileRoutes(app, services)
  },
}
