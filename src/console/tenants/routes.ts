import { formRoute } from '../form-routes.ts'
import { activityHref, tenantsHref, tokenHref, viewReasonHref } from '../kit/href.ts'
import { formerAddress, pageRoute } from '../page.tsx'
import { fileRoute } from '../page-files.ts'
import type { Subject } from '../subject.ts'
import { activityPage, livesFile } from './activity.tsx'
import { billingPage } from './billing.tsx'
import { approvalForm, billingForm } from './billing-forms.tsx'
import { limitForm, statusForm } from './forms.tsx'
import { inviteForm } from './invite.tsx'
import { issueForm } from './issue.tsx'
import { closeTenantForm, nameForm, openForm, userForm } from './life-forms.tsx'
import { budgetForm, creditLimitForm, grantForm, priceForm } from './money-forms.tsx'
import { tenantPage } from './tenant.tsx'
import { tenantsFile, tenantsPage } from './tenants.tsx'
import { disableForm, rotateForm, tokenPage } from './token.tsx'
import { viewReasonRoles, viewReasonRoutes } from './view-reason.tsx'

export const tenants: Subject = {
  place: {
    href: tenantsHref(),
    name: 'Tenants',
    below: [tenantsHref(), tokenHref('')],
    isShownTo: ({ kind }) => kind === 'admin',
  },
  register: (app, services) => {
    const { settings, tenants: managed, tokens } = services.accounts
    pageRoute(app, services, tenantsPage)
    fileRoute(app, services, tenantsPage, tenantsFile)
    pageRoute(app, services, tenantPage)
    pageRoute(app, services, tokenPage)
    pageRoute(app, services, activityPage)
    fileRoute(app, services, activityPage, livesFile)
    formRoute(app, services, tenantPage, statusForm(settings))
    formRoute(app, services, tenantPage, limitForm(settings))
    formRoute(app, services, tenantsPage, openForm(managed))
    formRoute(app, services, tenantPage, nameForm(settings))
    formRoute(app, services, tenantPage, userForm(managed))
    formRoute(app, services, tenantPage, closeTenantForm(settings))
    formRoute(app, services, tenantPage, grantForm(managed))
    formRoute(app, services, tenantPage, creditLimitForm(managed))
    formRoute(app, services, tenantPage, budgetForm(settings))
    formRoute(app, services, tenantPage, priceForm(settings))
    formRoute(app, services, tenantPage, inviteForm(tokens))
    formRoute(app, services, tenantPage, issueForm(tokens))
    pageRoute(app, services, billingPage)
    formRoute(app, services, billingPage, billingForm(settings))
    formRoute(app, services, billingPage, approvalForm(settings))
    formRoute(app, services, tokenPage, disableForm(tokens))
    formRoute(app, services, tokenPage, rotateForm(tokens))
    viewReasonRoutes(app, services)
    formerAddress(app, '/tenants/:id/history', activityPage.roles, activityHref)
    formerAddress(app, '/look', viewReasonRoles, () => viewReasonHref())
  },
}
