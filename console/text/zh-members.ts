/** Simplified Chinese: signing in as a person, members and invitations. */
export const MEMBERS: Readonly<Record<string, string>> = {
  Members: '成员',
  Person: '人员',
  Costs: '费用',
  you: '您',
  viewer: '查看者',
  developer: '开发者',
  'viewer: read only': '查看者：只读',
  'developer: also calls models and creates keys': '开发者：还可调用模型、创建密钥',
  'owner: also manages billing and members': '所有者：还可管理资金和成员',
  'Role of {name}': '{name} 的角色',
  'Last signed in': '最近登录',
  Remove: '移除',
  'Remove {name}?': '移除 {name}？',
  'Make {name} {role}?': '将 {name} 的角色改为 {role}？',
  'This is you: afterwards you may do only what the new role allows. Another owner can undo it.':
    '这是您自己：之后您只能执行新角色允许的操作。其他所有者可以撤销。',
  'They lose the rights of an owner immediately.': '对方将立即失去所有者权限。',
  'Change the role': '更改角色',
  'No members yet. Keys keep working as before.': '还没有人以个人身份登录。密钥照常可用。',
  'Their sessions end immediately. Keys they created keep working; their spending stays in the reports.':
    '其会话立即结束。其创建的密钥继续有效；其花费仍保留在报表中。',
  'Open invitations': '未使用的邀请',
  'No open invitations.': '没有待接受的邀请。',
  'E-mail address': '电子邮箱',
  'Invited by': '邀请人',
  'Valid until': '有效期至',
  Withdraw: '撤回',
  'Invite a member': '邀请成员',
  'Invitation created': '邀请已创建',
  'Only a person who signs in with this address can use the link.': '只有以该邮箱登录的人才能使用此链接。',
  'Inviting …': '正在邀请…',
  Invite: '邀请',
  'Send them this link. It can be used once, within seven days, and will not be shown again.':
    '把此链接发给对方。链接七天内有效，仅可使用一次，且不会再次显示。',
  'Copy the link': '复制链接',
  'Signed in as {name} ({role})': '已以 {name}（{role}）身份登录',
  'Sign in with {name}': '使用 {name} 登录',
  'Or with a key:': '或使用密钥：',
  'You are invited. Sign in with the e-mail address that the invitation was sent to.':
    '您已受到邀请。请使用收到邀请的电子邮箱登录。',
  'The sign-in service is not responding. Try again in a moment, or sign in with a key.':
    '登录服务没有响应。请稍后再试；在此期间可使用密钥。',
  'Sign-in took too long, or another tab started signing in. Try again.':
    '登录超时，或另一个标签页也开始了登录。请重试。',
  'Too many failed sign-ins from here. Wait a minute, then try again.':
    '来自此处的登录失败次数过多。请等待一分钟后再试。',
  'You signed in, but you are not a member of any account here. Ask an owner to invite you.':
    '登录成功，但您不是这里任何账户的成员。请让所有者邀请您。',
  'This invitation was already used or withdrawn, or is older than seven days. Ask for a new one.':
    '此邀请已被使用、撤回或超过七天。请索取新的邀请。',
  'This invitation is for a different e-mail address than the one you signed in with.':
    '此邀请对应的邮箱与您登录所用的邮箱不同。',
  'The sign-in service did not provide a verified e-mail address, which an invitation needs.':
    '登录服务没有提供您已验证的邮箱，而接受邀请需要它。',
  'The sign-in service does not list you as an operator here.': '登录服务未表明您是此处的运营人员。',
  'The account has reached its limit of keys and members. Ask an owner to remove some.':
    '该账户的密钥和成员数量已达上限。请让所有者腾出名额。',
  'The sign-in service did not let you in, or you canceled there. Try again, or ask its administrator for access.':
    '登录服务没有允许您登录，或者您在那里取消了登录。请重试，或向该服务的管理员申请权限。',
  'The sign-in service could not confirm your identity. Try again; if that does not help, tell the operator: the log says why.':
    '登录服务未能确认您的身份。请重试；如果仍然不行，请告知运营方：日志中有原因。',
};
