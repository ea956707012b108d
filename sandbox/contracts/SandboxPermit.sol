// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IPermitToken {
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;
}

/// @title An EIP-2612 permit that is presented together with a payment.
library SandboxPermit {
    struct EIP2612Permit {
        uint256 value;
        uint256 deadline;
        bytes32 r;
        bytes32 s;
        uint8 v;
    }

    event EIP2612PermitFailedWithReason(address indexed token, address indexed owner, string reason);
    event EIP2612PermitFailedWithData(address indexed token, address indexed owner, bytes data);

    /// @dev A permit that fails is no obstacle where the allowance is there already.
    function present(EIP2612Permit memory permit, address token, address owner, address spender) internal {
        try IPermitToken(token).permit(
            owner,
            spender,
            permit.value,
            permit.deadline,
            permit.v,
            permit.r,
            permit.s
        ) {} catch Error(string memory reason) {
            emit EIP2612PermitFailedWithReason(token, owner, reason);
        } catch (bytes memory data) {
            emit EIP2612PermitFailedWithData(token, owner, data);
        }
    }
}
