/** Simplified Chinese: signing in as a person, members and invitations. */
export const MEMBERS: Readonly<Record<string, string>> = {
  Members: '成员',
  Person: '人员',
  Costs: '费用',
  you: '您',
  viewer: '查看者',
  developer: '开发者',
  'viewer: reads': '查看者：只读',
  'developer: also calls models, makes keys': '开发者：还可调用模型、创建密钥',
  'owner: also sees to money and members': '所有者：还可管理资金和成员',
  'Role of {name}': '{name} 的角色',
  'Last signed in': '最近登录',
  Remove: '移除',
  'Remove {name}?': '移除 {name}？',
  'Nobody signs in as themselves yet. Keys work as before.': '还没有人以个人身份登录。密钥照常可用。',
  'Their sessions end at once. Keys that they made go on working; what they spent stays in the reports.':
    '其会话立即结束。其创建的密钥继续有效；其花费仍保留在报表中。',
  'Open invitations': '未使用的邀请',
  'Nobody is invited.': '没有待接受的邀请。',
  'E-mail address': '电子邮箱',
  'Invited by': '邀请人',
  'Good until': '有效期至',
  Withdraw: '撤回',
  'Invite somebody': '邀请成员',
  'Invitation made': '邀请已创建',
  'Only somebody who signs in with this address can use the link.': '只有以该邮箱登录的人才能使用此链接。',
  'Inviting …': '正在邀请…',
  Invite: '邀请',
  'Send them this link. It is good for one use within seven days and is not shown again.':
    '把此链接发给对方。链接七天内有效，仅可使用一次，且不会再次显示。',
  'Copy the link': '复制链接',
  'Signed in as {name} ({role})': '已以 {name}（{role}）身份登录',
  'Sign in with {name}': '使用 {name} 登录',
  'Or with a key:': '或使用密钥：',
  'You are invited. Sign in with the e-mail address that the invitation was sent to.':
    '您已受到邀请。请使用收到邀请的电子邮箱登录。',
  'The sign-in service does not answer. Try again in a moment; a key works meanwhile.':
    '登录服务没有响应。请稍后再试；在此期间可使用密钥。',
  'That took too long, or another tab began to sign in as well. Try again.':
    '登录超时，或另一个标签页也开始了登录。请重试。',
  'Too many sign-ins failed from here. Wait a minute, then try again.':
    '来自此处的登录失败次数过多。请等待一分钟后再试。',
  'You are signed in there, but a member of no account here. Ask an owner to invite you.':
    '登录成功，但您不是这里任何账户的成员。请让所有者邀请您。',
  'This invitation was used, withdrawn or is older than seven days. Ask for another one.':
    '此邀请已被使用、撤回或超过七天。请索取新的邀请。',
  'This invitation is for another e-mail address than the one you signed in with.':
    '此邀请对应的邮箱与您登录所用的邮箱不同。',
  'The sign-in service tells no verified e-mail address of yours, which an invitation needs.':
    '登录服务没有提供您已验证的邮箱，而接受邀请需要它。',
  'The sign-in service does not say that you are an operator here.': '登录服务未表明您是此处的运营人员。',
  'The account has as many keys and members as it may. Ask an owner to make room.':
    '该账户的密钥和成员数量已达上限。请让所有者腾出名额。',
  'The sign-in service did not vouch for you. Try again.': '登录服务未能确认您的身份。请重试。',
};
