import { formRoute } from '../form-routes.ts'
import { proposalsHref } from '../kit/href.ts'
import { pageRoute } from '../page.tsx'
import type { Subject } from '../subject.ts'
import { approveForm, proposalPage, proposalsPage, rejectForm } from './proposals.tsx'

export const proposals: Subject = {
  place: {
    href: proposalsHref(),
    name: 'Proposals',
    isShownTo: ({ kind }) => kind === 'admin',
  },
  register: (app, services) => {
    pageRoute(app, services, proposalsPage)
    pageRoute(app, services, proposalPage)
    formRoute(app, services, proposalPage, approveForm(services.accounts.proposals))
    formRoute(app, services, proposalPage, rejectForm(services.accounts.proposals))
  },
}
